import { systemClock } from '@millrace/platform/clock';
import {
  startWorkerProcess,
  type Random,
  type TcpProxy,
  type TestDatabase,
  type TestNames,
  type WorkerProcess,
} from '@millrace/testing';

export interface FaultCounts {
  killed: number;
  frozen: number;
  stopped: number;
  natsOutages: number;
}

export interface FaultOptions {
  readonly database: TestDatabase;
  readonly names: TestNames;
  readonly random: Random;
  /** In front of NATS, used only by the workers. */
  readonly proxy: TcpProxy;
  readonly natsUrl: string;
  readonly relays: number;
  readonly leaseMs: number;
  /** Minimum number of faults, even if the writers finish earlier. */
  readonly minimumFaults: number;
  readonly over: AbortSignal;
  note(line: string): void;
}

/**
 * Runs real workers that compete for short leases and injects faults: kill -9, a freeze longer than the lease, a graceful stop,
 * a NATS outage. Stopped workers are replaced.
 */
export async function runFaults(options: FaultOptions): Promise<FaultCounts> {
  const counts: FaultCounts = { killed: 0, frozen: 0, stopped: 0, natsOutages: 0 };
  let started = 0;
  const start = (): Promise<WorkerProcess> =>
    startWorkerProcess({
      ...options,
      name: `worker-${(started += 1)}`,
      env: {
        MILLRACE_LOG_LEVEL: 'error',
        MILLRACE_NATS_URLS: options.natsUrl,
        MILLRACE_RELAY_LEASE_MS: String(options.leaseMs),
        MILLRACE_RELAY_POLL_MS: '5',
      },
    });
  const workers = await Promise.all(Array.from({ length: options.relays }, start));
  let due: Fault[] = [];
  const total = (): number => counts.killed + counts.frozen + counts.stopped + counts.natsOutages;
  try {
    while (!options.over.aborted || total() < options.minimumFaults) {
      await systemClock.sleep(options.random.int(50, 600));
      // Inject each kind once in random order before any is repeated, so that every run has all kinds.
      if (due.length === 0) due = options.random.shuffle(faults);
      const fault = due.pop();
      if (fault !== undefined) await injectFault(fault, { options, workers, counts, start });
      if (total() % 10 === 0) options.note(`${total()} faults so far`);
    }
  } finally {
    options.proxy.heal();
    await Promise.all(workers.map((worker) => worker.crash()));
  }
  return counts;
}

const faults = ['kill', 'freeze', 'stop', 'cut NATS'] as const;
type Fault = (typeof faults)[number];

interface FaultContext {
  readonly options: FaultOptions;
  readonly workers: WorkerProcess[];
  readonly counts: FaultCounts;
  readonly start: () => Promise<WorkerProcess>;
}

async function injectFault(fault: Fault, { options, workers, counts, start }: FaultContext): Promise<void> {
  const { random, leaseMs, proxy } = options;
  const victim = random.int(0, workers.length - 1);
  const worker = workers[victim];
  if (worker === undefined) throw new Error('The victim is not among the workers.');
  switch (fault) {
    case 'kill':
      await worker.crash();
      workers[victim] = await start();
      counts.killed += 1;
      break;
    case 'freeze':
      worker.freeze();
      await systemClock.sleep(random.int(leaseMs, 3 * leaseMs));
      worker.thaw();
      counts.frozen += 1;
      break;
    case 'stop':
      await worker.stop();
      workers[victim] = await start();
      counts.stopped += 1;
      break;
    case 'cut NATS':
      proxy.cut();
      await systemClock.sleep(random.int(100, 1_500));
      proxy.heal();
      counts.natsOutages += 1;
      break;
  }
}
