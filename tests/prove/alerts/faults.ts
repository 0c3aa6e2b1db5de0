import { toUuid } from '@millrace/platform/ids';
import { killNode, startNode } from '@millrace/services';
import { eventually, poisonRows } from '@millrace/testing';
import { runAdmin } from '../../../apps/admin/src/app.ts';
import type { SupervisedProcess } from '../../stack/supervised-process.ts';
import type { Labels } from './monitoring.ts';
import { models, type Site } from './site.ts';

/** An alert, and those of its labels that name the fault. */
export interface ExpectedAlert {
  readonly name: string;
  readonly labels: Labels;
}

export interface Fault {
  readonly title: string;
  readonly raises: readonly ExpectedAlert[];
  /** Returns the repair. */
  readonly inject: (site: Site) => Promise<() => Promise<void>>;
}

const alert = (name: string, labels: Labels = {}): ExpectedAlert => ({ name, labels });
const chatRoute = { route: '/v1/chat/completions' };

const killOf = (
  title: string,
  job: string,
  victimOf: (site: Site) => SupervisedProcess | undefined,
): Fault => ({
  title,
  raises: [alert('MillraceProcessDown', { job })],
  inject: async (site) => {
    const victim = victimOf(site);
    if (victim === undefined) throw new Error(`The stack has no process for: ${title}`);
    await victim.kill();
    return () => victim.start();
  },
});

export const faults = {
  api: killOf('api killed', 'millrace-api', ({ stack }) => stack.apis[0]),
  worker: killOf('worker killed', 'millrace-worker', ({ stack }) => stack.workers[0]),
  gateway: killOf('gateway killed', 'millrace-gateway', ({ stack }) => stack.gateways[0]),
  postgres: {
    title: 'PostgreSQL killed',
    raises: [alert('MillraceDatabaseUnreachable'), alert('MillraceProcessNotReady')],
    inject: async ({ postgresNode }) => {
      await killNode('postgres', postgresNode);
      return () => startNode('postgres', postgresNode);
    },
  },
  standby: {
    title: 'standby of PostgreSQL killed',
    raises: [alert('MillraceDatabaseWithoutStandby')],
    inject: async (site) => {
      await site.standby?.[Symbol.asyncDispose]();
      return site.startStandby;
    },
  },
  nats: {
    title: 'NATS killed',
    raises: [alert('MillraceNatsUnreachable'), alert('MillraceUsageNotStored')],
    inject: async ({ stack }) => {
      await stack.killEngineNode('nats');
      return () => stack.startEngineNode('nats');
    },
  },
  valkey: {
    title: 'Valkey of rate limits killed',
    raises: [alert('MillraceValkeyUnreachable')],
    inject: async ({ stack }) => {
      await stack.killEngineNode('valkey');
      return () => stack.startEngineNode('valkey');
    },
  },
  leases: {
    title: 'Valkey of credit leases killed',
    raises: [alert('MillraceLeaseServerUnreachable')],
    inject: async ({ stack: { valkey } }) => {
      const info = String(await valkey.client.command(['INFO', 'server']));
      const [, pid = ''] = /process_id:(\d+)/.exec(info) ?? [];
      process.kill(Number(pid), 'SIGKILL');
      return () => valkey.restart();
    },
  },
  restate: {
    title: 'Restate killed',
    raises: [alert('MillraceRestateUnreachable')],
    inject: async ({ stack }) => {
      await stack.killEngineNode('restate');
      return () => stack.startEngineNode('restate');
    },
  },
  engine: {
    title: 'engine of a model answers 500',
    raises: [
      alert('MillraceEngineErrors', { gen_ai_request_model: models.faulty }),
      alert('MillraceGatewayErrors', chatRoute),
    ],
    inject: async ({ engine }) => {
      engine.failAll('broken');
      return async () => engine.failAll(null);
    },
  },
  hanging: {
    title: 'engine of a model hangs',
    raises: [alert('MillraceGatewayErrors', chatRoute)],
    inject: async ({ hanging }) => {
      hanging.pause();
      return async () => hanging.heal();
    },
  },
  clock: {
    title: 'clock of a worker wrong by 60 s',
    raises: [alert('MillraceClockWrong', { job: 'millrace-worker' })],
    inject: async ({ stack }) => {
      const step = async (): Promise<void> => {
        for (const worker of stack.workers.slice(0, 1)) process.kill(worker.pid() ?? 0, 'SIGUSR2');
      };
      await step();
      return step;
    },
  },
  usageStuck: {
    title: 'usage not processed by any worker',
    raises: [alert('MillraceUsageNotProcessed')],
    inject: ({ stack }) => poisonRows(stack.database, { table: 'usage_watermarks', when: 'true' }),
  },
  usageDeferred: {
    title: 'charges of one organisation time out',
    raises: [alert('MillraceUsageUnsettled')],
    inject: ({ stack, deferredOrgId }) =>
      poisonRows(stack.database, {
        table: 'usage_charges',
        when: `new.org_id = '${toUuid(deferredOrgId)}'`,
        // Any other failure is permanent, and its usage is quarantined.
        how: 'times out',
      }),
  },
  cluster: {
    title: 'cluster of machines unreachable',
    raises: [alert('MillraceClusterUnreachable', { cluster: 'mock' })],
    inject: async ({ cluster }) => {
      cluster.cut();
      return async () => cluster.heal();
    },
  },
  restored: {
    title: 'database restored to an earlier point',
    raises: [alert('MillraceRestoreBlocked'), alert('MillraceDatabaseFailover')],
    inject: async (site) => {
      if (site.restoreTarget === null) throw new Error('There is no backup to restore.');
      await site.postgres.archiveAll();
      await site.postgres.lose();
      await site.postgres.restore(site.restoreTarget);
      return () => confirmRestore(site);
    },
  },
} as const satisfies Readonly<Record<string, Fault>>;

async function confirmRestore({ adminEnv }: Site): Promise<void> {
  await eventually({ what: 'the restore to be confirmed', timeoutMs: 120_000, intervalMs: 500 }, async () => {
    let out = '';
    const io = { out: (text: string) => void (out += text), err: (text: string) => void (out += text) };
    const code = await runAdmin(['restore', 'confirm', '--reason', 'the proof'], io, { ...adminEnv });
    if (code !== 0 || !out.includes('Done.')) throw new Error(`confirm exited with ${code}: ${out}`);
    return true;
  });
}
