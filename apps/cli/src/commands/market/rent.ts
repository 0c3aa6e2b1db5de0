import { defineCommand } from '../../framework/command.ts';
import type { Context } from '../../framework/context.ts';
import { CliError, UsageError } from '../../framework/errors.ts';
import { exitCodes } from '../../framework/exit-codes.ts';
import { printResult } from '../../framework/output.ts';
import { hasTestKey } from '../../framework/profiles.ts';
import { withLive } from '../../money/mode.ts';
import { freeGpus } from '../../market/columns.ts';
import { defaultRegion, type Instance, type Machine } from '../../market/find.ts';
import { localStep } from '../../progress/local-step.ts';
import { createInstanceSteps, usdToNano, usdText } from '@millrace/sdk/text';
import { withInterruptNotice, withProgress } from '../../progress/watch.ts';
import { parseDurationFlag, parsePortFlags, parseTagFlags } from '../../rentals/flags.ts';
import { notFoundError } from '../../framework/find-errors.ts';
import { showQuote } from '../../rentals/money.ts';

export const command = defineCommand({
  name: 'market rent',
  summary: 'Rent GPUs of a marketplace machine and wait until they are ready',
  description:
    'Shows the cost and asks for confirmation. The price is frozen with the order. Billing is per second and starts when the machine passes its readiness check. An instance cannot be stopped and started, and is lost with its host. Ctrl-C stops watching; the instance keeps running.',
  positionals: [{ name: 'node', describe: 'the machine, as in millrace market list' }],
  flags: {
    gpus: { type: 'number', integer: true, min: 1, value: 'N', default: 1, describe: 'the number of GPUs' },
    region: {
      type: 'text',
      value: 'REGION',
      describe: 'the region of the machine, if it is not listed without a region',
    },
    image: { type: 'text', value: 'NAME[:TAG]', describe: 'an image of the machine' },
    port: { type: 'list', value: 'PORT', describe: 'open this port; requires --image' },
    'ssh-key': { type: 'list', value: 'ID', describe: 'only these of your SSH keys; default: all' },
    ttl: { type: 'text', value: 'TIME', describe: 'terminate it after this time: 90m, 2h, 3d' },
    'max-usd': { type: 'number', min: 0, value: 'USD', describe: 'terminate it before it costs more' },
    'idle-after': { type: 'text', value: 'TIME', describe: 'terminate it after this idle time' },
    'user-data': { type: 'text', value: 'FILE', describe: 'a script to run once at the start' },
    tag: { type: 'list', value: 'NAME=VALUE', describe: 'a tag' },
    wait: { type: 'boolean', describe: 'wait until it is online; --no-wait returns immediately' },
  },
  examples: {
    'millrace market rent nod_01JD8Q7XK4T2M9V6B3N5C1F0GH': 'One GPU',
    'millrace market rent nod_01JD8Q7XK4T2M9V6B3N5C1F0GH --gpus 2 --image default --port 8080 --ttl 2h --yes':
      'Two GPUs with a port and a TTL, in a script',
  },
  operations: ['listMarketplaceInstances', 'createMarketplaceInstance', 'listMarketplaceMachines'],
  json: 'record',
  failure: 'Could not rent the machine.',
  async run(context, { args, flags }) {
    const { signal } = context;
    const image = imageOf(flags.image, parsePortFlags(flags.port));
    const ttl = flags.ttl === undefined ? undefined : parseDurationFlag('ttl', flags.ttl);
    const idle = flags['idle-after'];
    const machine = await findMachine(context, args.node, flags.region);
    requireFree(machine, flags.gpus);
    showCost(context, machine, flags.gpus);
    await context.confirm('Rent it?');
    const made = await context.client().marketplace.instances.create(
      {
        cluster_name: machine.cluster_name,
        node_name: machine.id,
        gpu_count: flags.gpus,
        image,
        ssh_key_ids: flags['ssh-key'].length === 0 ? undefined : [...flags['ssh-key']],
        ttl_seconds: ttl,
        max_usd: flags['max-usd'],
        idle: idle === undefined ? undefined : { afterSeconds: parseDurationFlag('idle-after', idle) },
        user_data:
          flags['user-data'] === undefined ? undefined : await context.files.readText(flags['user-data']),
        tags: parseTagFlags(flags.tag),
      },
      { signal },
    );
    const instance = await watchInstance(context, made.instance_name, flags.wait !== false);
    const state = instance.instance.status;
    const next =
      state === 'online' ? `Log in: millrace ssh ${instance.id}` : 'See: millrace market instances';
    printResult(context, `Instance ${instance.id} is ${state}. ${next}`, instance);
  },
});

function imageOf(image: string | undefined, ports: number[] | undefined) {
  if (image === undefined) {
    if (ports !== undefined) throw new UsageError('--port requires --image.');
    return undefined;
  }
  const [, name = image, tag] = /^(.*):([^:/]+)$/.exec(image) ?? [];
  return { name, tag, ports };
}

async function findMachine(context: Context, node: string, region: string | undefined): Promise<Machine> {
  const filters = { id: node, region: defaultRegion(context, region) };
  const page = await context.client().marketplace.list({ filters, limit: 1 }, { signal: context.signal });
  const [machine] = page.items;
  if (machine === undefined) {
    throw new CliError(`There is no machine ${JSON.stringify(node)} on the marketplace.`, {
      why: 'No listed machine has this id. Machines that are full or withdrawn are not listed.',
      fix: 'List the machines: millrace market list',
      exitCode: exitCodes.notFound,
    });
  }
  return machine;
}

function requireFree(machine: Machine, gpus: number): void {
  const free = freeGpus(machine);
  if (free >= gpus) return;
  throw new CliError(`The machine has ${free} of ${machine.gpus_total} GPUs available, not ${gpus}.`, {
    why: 'Other tenants have rented the rest.',
    fix: `Find another machine: millrace market list --gpus ${gpus}`,
    exitCode: exitCodes.noCapacity,
  });
}

function showCost(context: Context, machine: Machine, gpus: number): void {
  const each = usdToNano(machine.pricing.price.amount);
  const model = machine.hardware.gpus[0]?.model ?? 'GPU';
  showQuote(context, `${gpus} × ${model} of ${machine.id} in ${machine.location.region}`, [
    ...(gpus > 1 ? ([['each', priceText(context, each)]] as const) : []),
    ['price', `${priceText(context, each * BigInt(gpus))}, billed per second from the readiness check`],
    ['supplier', machine.supplier_id],
  ]);
}

/** Machines list their live price; test mode is free. */
function priceText(context: Context, perHour: bigint): string {
  return hasTestKey(context.profile) ? withLive('$0.00/h', String(perHour), '/h') : `${usdText(perHour)}/h`;
}

async function watchInstance(context: Context, name: string, isWaiting: boolean): Promise<Instance> {
  const { instances } = context.client().marketplace;
  const { signal } = context;
  if (!isWaiting) {
    const found = (await instances.list({}, { signal }).all()).find(({ id }) => id === name);
    if (found !== undefined) return found;
    throw notFoundError('instance', name, 'millrace market instances');
  }
  const unwatched = {
    goesOn: `Instance ${name} is still starting. Billing starts when it is online.`,
    watchAgain: 'millrace market instances',
    undo: `millrace market terminate ${name}`,
  };
  const online = await withInterruptNotice(
    context,
    unwatched,
    withProgress(context, createInstanceSteps, (show) => {
      // The states of the instance are the steps; a step ends when the next state is seen.
      const steps: ReturnType<typeof localStep>[] = [];
      const onStep = ({ name: state }: { readonly name: string }): void => {
        const over = steps.map((step) => step.done());
        if (state === 'online') return show(over);
        const next = localStep(context, state);
        steps.push(next);
        show([...over, next.running]);
      };
      return instances.waitUntil({ id: name }, 'online', { signal, onStep });
    }),
  );
  if (online !== null) return online;
  throw new CliError(`Instance ${name} does not exist anymore.`, {
    fix: 'See its cost: millrace market history',
  });
}
