# Runs a library of Ruby on the server whose socket is the second argument, and prints what it replied as JSON.
# The first argument names the library.
require "json"

def sidekiq(path)
  require "sidekiq"
  require "sidekiq/api"
  require "sidekiq/job_retry"
  Sidekiq.configure_client { |config| config.redis = { path: path } }
  mail = Class.new do
    include Sidekiq::Worker
    sidekiq_retry_in { 2 }
  end
  20.times do |number|
    job = Sidekiq.dump_json("class" => "Mail", "args" => [number], "jid" => "j#{number}", "retry" => true)
    Sidekiq::JobRetry.new.local(mail.new, job, "default") { raise "the mail server is away" }
  rescue Sidekiq::JobRetry::Skip
    next
  end
end

def redis_store(path)
  require "redis-store"
  store = Redis::Store.new(path: path)
  stored = store.setnx("page", "v", expire_after: 0.5)
  [stored, store.exists?("page")]
end

puts JSON.generate(send(ARGV[0], ARGV[1]))
