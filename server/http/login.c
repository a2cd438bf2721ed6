/* login: see login.h. */
#include "server/http/login.h"

enum { CREDENTIALS_MAX = 1024, BITS = 6 };

int login_decode(struct bytes text, char *to, int size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned held = 0, bits = 0;
    int len = 0;
    /* Padding fills the last group of four digits. */
    if (text.len % 4 != 0) return -1;
    for (int i = 0; i < 2 && text.len > 0 && text.data[text.len - 1] == '='; i++)
        text.len--;
    for (size_t i = 0; i < text.len; i++) {
        const char *digit = memchr(digits, text.data[i], sizeof(digits) - 1);
        if (digit == NULL) return -1;
        held = (held << BITS | (unsigned)(digit - digits)) & 0xFFFF;
        bits += BITS;
        if (bits < 8) continue;
        bits -= 8;
        if (len == size) return -1;
        to[len++] = (char)(held >> bits);
    }
    return len;
}

/* Finds a command by the name in its row, because rename-command may have changed the name that
 * clients use. The result's row is NULL if the command is disabled. */
static struct command_ref find_row(const struct acl *acl, const struct bytes words[2])
{
    for (size_t i = 0; i < commands_count(acl->commands); i++) {
        struct command_ref command = commands_at(acl->commands, i), part;
        if (!bytes_is_word(words[0], command.row->name)) continue;
        if (command.row->subcommands == NULL) return command;
        for (size_t j = 0; (part = commands_subcommand(command, j)).row != NULL; j++)
            if (bytes_is_word(words[1], part.row->name)) break;
        return part;
    }
    return (struct command_ref){ 0 };
}

/* May the user run the commands that show the same as the port, and read all keys? */
static bool may_read(const struct acl *acl, const struct acl_user *user)
{
    static const struct bytes shown[][2] = {
        { { "INFO", 4 }, { "all", 3 } },
        { { "EXPIRY", 6 }, { "FORECAST", 8 } },
        { { "SLOWLOG", 7 }, { "GET", 3 } },
    };
    if (user->unrestricted) return true;
    int at;
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
        struct command_ref command = find_row(acl, shown[i]);
        if (command.row == NULL) return false;
        if (acl_user_check(user, command, 2, shown[i], &at) != ACL_ALLOWED) return false;
    }
    return acl_user_reads_prefix(user, LIT(""));
}

enum login login_check(const struct acl *acl, struct bytes authorization)
{
    char text[CREDENTIALS_MAX];
    if (!acl_wants_password(acl) && may_read(acl, acl->main_user)) return LOGIN_GRANTED;
    if (authorization.len == 0) return LOGIN_MISSING;
    static const char scheme[] = "Basic ";
    size_t at = sizeof(scheme) - 1;
    if (authorization.len < at || strncasecmp(authorization.data, scheme, at) != 0)
        return LOGIN_WRONG;
    for (; at < authorization.len && authorization.data[at] == ' '; at++)
        continue;
    int len =
        login_decode(bytes_of(authorization.data + at, authorization.len - at), text, sizeof(text));
    if (len < 0) return LOGIN_WRONG;
    const char *colon = memchr(text, ':', (size_t)len);
    if (colon == NULL) return LOGIN_WRONG;
    struct bytes name = bytes_of(text, (size_t)(colon - text));
    struct bytes password = bytes_of(colon + 1, (size_t)len - name.len - 1);
    const struct acl_user *user = name.len > 0 ? acl_find(acl, name) : acl->main_user;
    /* Hash even if there is no such user, so that the time does not reveal which names exist. */
    bool admitted = acl_user_admits(user != NULL ? user : acl->main_user, password);
    return user != NULL && admitted && may_read(acl, user) ? LOGIN_GRANTED : LOGIN_WRONG;
}
