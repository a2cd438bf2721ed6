# Sidekiq: a process of 50 threads; it adds the jobs itself when it has started.
require "json"
require "sidekiq"

Redis.silence_deprecations = true

JOBS = Integer(ENV.fetch("JOBS"))
DELAY_MS = 2000 # at most
PACE = Integer(ENV.fetch("PACE")) # jobs a second; 0: as fast as possible
BATCH = PACE > 0 ? 50 : 500
MOST = 0.85 # of the jobs are neither delayed nor retried: their rate counts

def delay_of(number) = number % 10 == 0 ? 1 + number * 7919 % DELAY_MS : 0
def now_ms = Process.clock_gettime(Process::CLOCK_REALTIME) * 1000

module Tally
  LOCK = Mutex.new
  SEEN = {}
  LATE = []
  FAILED = {}

  def self.begin! = @began = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def self.fails_once?(number)
    number % 50 == 7 && LOCK.synchronize { FAILED[number] ? false : FAILED[number] = true }
  end

  def self.done(number, due)
    LOCK.synchronize do
      @again = @again.to_i + 1 if SEEN[number]
      SEEN[number] = true
      LATE << now_ms - due if delay_of(number) > 0
      @rate = SEEN.size / (Process.clock_gettime(Process::CLOCK_MONOTONIC) - @began) if SEEN.size == (MOST * JOBS).floor
      finish if SEEN.size == JOBS
    end
  end

  def self.finish
    late = LATE.sort
    share = ->(part) { late[(part * (late.size - 1)).floor].round }
    puts JSON.generate(rate: @rate, late_p50_ms: share.(0.5), late_p99_ms: share.(0.99), again: @again.to_i)
    $stdout.flush
    Process.kill(:KILL, Process.pid)
  end
end

class Job
  include Sidekiq::Worker
  sidekiq_options retry: 3
  sidekiq_retry_in { 0 }

  def perform(number, due)
    raise "again" if Tally.fails_once?(number)
    Tally.done(number, due)
  end
end

Sidekiq.configure_server do |config|
  config.redis = { url: ENV.fetch("REDIS_URL"), size: 60 }
  config.on(:startup) do
    Thread.new do
      Tally.begin!
      began = now_ms
      (0...JOBS).each_slice(BATCH) do |numbers|
        now = now_ms
        early = PACE > 0 ? began + 1000.0 * numbers.first / PACE - now : 0
        sleep(early / 1000) if early > 0
        now = now_ms
        numbers.partition { |number| delay_of(number) > 0 }.each_with_index do |part, at_once|
          next if part.empty?
          push = { "class" => Job, "args" => part.map { |number| [number, now + delay_of(number)] } }
          push["at"] = part.map { |number| (now + delay_of(number)) / 1000.0 } if at_once == 0
          Sidekiq::Client.push_bulk(push)
        end
      end
    end
  end
end
