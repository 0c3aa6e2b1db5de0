import { defineCommand } from '../framework/command.ts';
import type { Context } from '../framework/context.ts';
import { CliError, UsageError } from '../framework/errors.ts';
import { exitCodes } from '../framework/exit-codes.ts';
import { printJson } from '../framework/output.ts';
import { findInstance } from '../market/find.ts';
import { stateOf } from '../rentals/columns.ts';
import { findRental, handleOf, type Rental } from '../rentals/find.ts';
import { openSshSession, type SshEndpoint } from '../ssh/login.ts';

export const command = defineCommand({
  name: 'ssh',
  summary: 'Log in to a rental or an instance',
  description:
    'Uses your own ssh and keys. The host key must be the one that the platform saw in the readiness check, so ssh does not ask you to trust it. Exits with the exit code of the remote command.',
  positionals: [{ name: 'rental', describe: 'name or id of a rental, or the name of an instance' }],
  flags: {
    node: {
      type: 'number',
      integer: true,
      min: 1,
      value: 'N',
      default: 1,
      describe: 'which of several nodes',
    },
    identity: { type: 'text', short: 'i', value: 'FILE', describe: 'log in with this private key' },
    forward: {
      type: 'list',
      short: 'L',
      value: 'PORT:HOST:PORT',
      describe: 'forward a port of the machine',
    },
  },
  rest: 'COMMAND',
  examples: {
    'millrace ssh train': 'A shell on the machine',
    'millrace ssh train -- nvidia-smi -L': 'One command',
    'millrace ssh train --forward 8888:localhost:8888': 'A notebook on the machine',
    'millrace ssh train --json': 'Only print the address',
  },
  operations: ['getRental', 'listVirtualMachineRentals', 'listBareMetalRentals', 'listMarketplaceInstances'],
  json: { kind: 'record', fields: ['host', 'port', 'user', 'hostKeyFingerprint', 'command'] },
  failure: 'Could not log in.',
  async run(context, { args, flags, rest }) {
    const endpoint = await resolveSshEndpoint(context, args.rental, flags.node);
    const { host, port, user, fingerprint } = endpoint;
    if (context.output.format === 'json') {
      const shown = `ssh -p ${port} ${user}@${host}`;
      printJson(context, { host, port, user, hostKeyFingerprint: fingerprint, command: shown });
      return;
    }
    await openSshSession(context, endpoint, {
      identityFile: flags.identity,
      forwards: flags.forward,
      command: rest,
    });
  },
});

async function resolveSshEndpoint(context: Context, words: string, node: number): Promise<SshEndpoint> {
  try {
    return rentalSshEndpoint(await findRental(context, words), node);
  } catch (error) {
    const isUnknown = error instanceof CliError && error.exitCode === exitCodes.notFound;
    const instance = isUnknown ? await findInstance(context, words) : null;
    if (instance === null) throw error;
    return instanceSshEndpoint(words, instance.sshCommand, instance.instance.status);
  }
}

function rentalSshEndpoint(rental: Rental, node: number): SshEndpoint {
  const found = rental.ssh[node - 1];
  // A stopped rental keeps its address.
  const isOff = rental.status === 'Running' && rental.power !== 'on';
  if (found !== undefined && !isOff) {
    const { host, port, user, hostKeyFingerprint } = found;
    return { host, port, user, fingerprint: hostKeyFingerprint };
  }
  if (rental.ssh.length > 0 && !isOff) {
    throw new UsageError(`The rental has ${rental.ssh.length} nodes; --node ${node} does not exist.`);
  }
  const fixes: Readonly<Record<string, string>> = {
    switching: `Wait until it runs: millrace rental wait ${rental.id}`,
    pending: `Wait until it runs: millrace rental wait ${rental.id}`,
    'off, GPUs held': `Start it: millrace rental start ${rental.id}`,
    'off, GPUs released': `Start it: millrace rental start ${rental.id}`,
  };
  const state = stateOf(rental);
  throw new CliError(`You cannot log in to rental ${rental.id} (${handleOf(rental)}) now.`, {
    why: `It is ${state}.${rental.statusReason === null ? '' : ` ${rental.statusReason}`}`,
    fix: fixes[state] ?? `See its status: millrace rental get ${rental.id}`,
  });
}

function instanceSshEndpoint(name: string, sshCommand: string | null, status: string): SshEndpoint {
  const [, user, host, port] = /^ssh ([^\s@]+)@(\S+) -p (\d+)$/.exec(sshCommand ?? '') ?? [];
  if (user !== undefined && host !== undefined) return { host, port: Number(port), user, fingerprint: null };
  throw new CliError(`You cannot log in to instance ${name} now.`, {
    why: `It is ${status}.`,
    fix: 'See its status: millrace market instances',
  });
}
