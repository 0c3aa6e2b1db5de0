import type { Context } from '../framework/context.ts';
import { CliError, UsageError } from '../framework/errors.ts';
import { exitCodes } from '../framework/exit-codes.ts';
import type { Column } from '../framework/output.ts';
import type { Item } from '../sdk.ts';
import { relativeText } from '@millrace/sdk/text';

export type Node = Item<'adminListNodes'>;

/** `node_ready` is shown as `ready`. */
export function stateText(status: string): string {
  return status.replace(/^node_/, '');
}

export function paintNodeState({ io }: Pick<Context, 'io'>, text: string): string {
  const state = text.trim();
  if (state === 'ready') return io.paint('green', text);
  return state === 'offline' || state === 'quarantined' ? io.paint('red', text) : io.paint('yellow', text);
}

/** The working, rented and unusable GPUs of a node. */
export function gpuCounts(gpus: Node['gpus']): {
  readonly total: number;
  readonly used: number;
  readonly bad: number;
} {
  const sound = gpus.filter(({ state }) => state === 'present');
  return {
    total: sound.length,
    used: sound.filter(({ allocatedTo }) => allocatedTo !== null).length,
    bad: gpus.filter(({ state }) => state === 'missing' || state === 'faulty').length,
  };
}

export function gpuTypes(gpus: Node['gpus']): string {
  return [...new Set(gpus.filter(({ state }) => state !== 'replaced').map(({ gpuType }) => gpuType))].join(
    ', ',
  );
}

export function nodeColumns(context: Context): readonly Column<Node>[] {
  const nowMs = context.clock.now().getTime();
  const since = (instant: string | null): string | undefined =>
    instant === null ? undefined : relativeText(instant, nowMs);
  return [
    { name: 'id', value: ({ id }) => id },
    { name: 'name', value: ({ name }) => name },
    { name: 'cluster', value: ({ clusterName }) => clusterName },
    { name: 'region', value: ({ region }) => region },
    {
      name: 'state',
      value: ({ status }) => stateText(status),
      paint: (text) => paintNodeState(context, text),
    },
    { name: 'gpu', value: ({ gpus }) => gpuTypes(gpus) },
    { name: 'used', align: 'right', value: ({ gpus }) => usedText(gpus) },
    { name: 'rentals', align: 'right', value: ({ liveRentalCount }) => liveRentalCount },
    { name: 'since', value: ({ statusSince }) => since(statusSince) },
    { name: 'why', value: ({ statusReason }) => statusReason },
    { name: 'seen', value: ({ lastSeenAt }) => since(lastSeenAt), extra: true },
    { name: 'supplier', value: ({ supplierId }) => supplierId, extra: true },
    { name: 'deadline', value: ({ drainDeadlineAt }) => since(drainDeadlineAt), extra: true },
    { name: 'cpus', align: 'right', value: ({ cpuCount }) => cpuCount, extra: true },
    { name: 'ram-gb', align: 'right', value: ({ ramGb }) => ramGb, extra: true },
    { name: 'driver', value: ({ driverVersion }) => driverVersion, extra: true },
  ];
}

function usedText(gpus: Node['gpus']): string {
  const { total, used, bad } = gpuCounts(gpus);
  return `${String(used)}/${String(total)}${bad === 0 ? '' : ` (${String(bad)} bad)`}`;
}

/** Finds a node by its id or its name; names may repeat between clusters. */
export async function findNode(
  context: Context,
  words: string,
): Promise<Pick<Node, 'id' | 'name' | 'liveRentalCount'>> {
  const client = context.client();
  const { signal } = context;
  if (words.startsWith('nod_')) return client.admin.nodes.get({ nodeId: words }, { signal });
  const found: Node[] = [];
  for await (const node of client.admin.nodes.list({ limit: 200 }, { signal })) {
    if (node.name === words) found.push(node);
  }
  const [only, ...others] = found;
  if (only === undefined) {
    throw new CliError(`There is no node ${JSON.stringify(words)}.`, {
      why: 'No node of the fleet has this id or name.',
      fix: 'millrace admin node list',
      exitCode: exitCodes.notFound,
    });
  }
  if (others.length > 0) {
    const ids = found.map(({ id, clusterName }) => `${id} (${clusterName})`).join(', ');
    throw new UsageError(`Several nodes have the name ${JSON.stringify(words)}: ${ids}.`, {
      fix: 'Use the id of the node.',
    });
  }
  return only;
}

export const nodePositional = [{ name: 'node', describe: 'id or name of the node' }] as const;

export const reasonFlag = {
  reason: { type: 'text', value: 'TEXT', required: true, describe: 'a reason, for the audit log' },
} as const;
