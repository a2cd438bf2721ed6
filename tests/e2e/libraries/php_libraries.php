<?php
// Runs phpredis on the server whose socket is the argument, and prints what it replied as JSON.
$redis = new Redis();
$redis->connect($argv[1]);
$redis->set("page", "v");
$expire = $redis->expire("page", 0.5);
$exists = $redis->exists("page");
$redis->set("page", "v");
echo json_encode([$expire, $exists, $redis->pexpire("page", 500), $redis->exists("page")]), "\n";
