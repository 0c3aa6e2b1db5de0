import { parseArgs } from 'node:util';

import type { Topology } from './engine.ts';
import { Failure, messageOf } from './failure.ts';

export type Invocation =
  | { readonly command: 'help' }
  | ({
      readonly command: 'up';
      readonly names: readonly string[];
      readonly install: boolean;
      readonly secure: boolean | undefined;
    } & SiteSelection)
  | ({ readonly command: 'install'; readonly names: readonly string[] } & SiteSelection)
  | ({ readonly command: 'down'; readonly names: readonly string[]; readonly purge: boolean } & SiteSelection)
  | ({ readonly command: 'status'; readonly json: boolean } & SiteSelection)
  | ({ readonly command: 'kill'; readonly node: string } & SiteSelection)
  | ({ readonly command: 'logs'; readonly node: string; readonly follow: boolean } & SiteSelection);

interface SiteSelection {
  readonly stateDir: string | undefined;
  readonly portBase: number | 'auto' | undefined;
  readonly topology: Topology | undefined;
}

const options = {
  cluster: { type: 'boolean' },
  single: { type: 'boolean' },
  install: { type: 'boolean' },
  secure: { type: 'boolean' },
  purge: { type: 'boolean' },
  json: { type: 'boolean' },
  follow: { type: 'boolean', short: 'f' },
  state: { type: 'string' },
  'port-base': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

type OptionName = keyof typeof options;

const allowed: Readonly<Record<string, readonly OptionName[]>> = {
  up: ['cluster', 'single', 'install', 'secure', 'state', 'port-base'],
  install: ['state'],
  down: ['cluster', 'single', 'purge', 'state'],
  status: ['json', 'state'],
  kill: ['state'],
  logs: ['follow', 'state'],
};

const seeHelp = 'See `npm run services -- --help`.';

/** Unknown commands and options are refused, never ignored. */
export function parseInvocation(argv: readonly string[]): Invocation {
  const { values, positionals } = parse(argv);
  const [command, ...names] = positionals;
  if (values.help === true || command === undefined || command === 'help') return { command: 'help' };
  rejectUnknownOptions(command, Object.keys(values));
  const place: SiteSelection = {
    stateDir: values.state,
    portBase: portBaseOf(values['port-base']),
    topology: topologyOf(values.cluster === true, values.single === true),
  };
  switch (command) {
    case 'up':
      return { command, names, install: values.install === true, secure: values.secure, ...place };
    case 'install':
      return { command, names, ...place };
    case 'down':
      return { command, names, purge: values.purge === true, ...place };
    case 'status':
      if (names.length > 0) throw new Failure('`status` takes no names.', seeHelp);
      return { command, json: values.json === true, ...place };
    case 'kill':
      return { command, node: onlyName(command, names), ...place };
    default:
      return { command: 'logs', node: onlyName('logs', names), follow: values.follow === true, ...place };
  }
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true });
  } catch (error) {
    throw new Failure(messageOf(error), seeHelp);
  }
}

function rejectUnknownOptions(command: string, given: readonly string[]): void {
  const known: readonly string[] | undefined = allowed[command];
  if (known === undefined) throw new Failure(`There is no command ${command}.`, seeHelp);
  const orphan = given.find((name) => !known.includes(name));
  if (orphan !== undefined) throw new Failure(`\`${command}\` does not take --${orphan}.`, seeHelp);
}

function topologyOf(cluster: boolean, single: boolean): Topology | undefined {
  if (cluster && single) throw new Failure('--cluster and --single exclude each other.', seeHelp);
  if (cluster) return 'cluster';
  return single ? 'single' : undefined;
}

function portBaseOf(text: string | undefined): number | 'auto' | undefined {
  if (text === undefined || text === 'auto') return text;
  if (/^\d{4,5}$/u.test(text)) return Number(text);
  throw new Failure(`--port-base takes a port number or \`auto\`, not ${text}.`, seeHelp);
}

function onlyName(command: string, names: readonly string[]): string {
  const [name, ...more] = names;
  if (name !== undefined && more.length === 0) return name;
  throw new Failure(`\`${command}\` takes the name of one node.`, '`status` lists the names.');
}

export const help = `Starts and stops the real engines on 127.0.0.1, for development, tests and CI.

  npm run services -- up [name…]       start engines (by default all but incus-host, ironic, haproxy and patroni) and wait until they are ready
  npm run services -- install [name…]  install the packages of engines (by default of all) without starting any
  npm run services -- down [name…]     stop engines
  npm run services -- status           show the state of every node; exits with 1 if a node is dead or not ready
  npm run services -- kill NODE        kill one node with SIGKILL, like a crash; \`up\` restarts it
  npm run services -- logs NODE        print the end of a node's log; -f follows it

Names: postgres, valkey, nats, restate, incus, incus-host, ironic, llama, images, speech, caddy, nfs, haproxy, patroni.

  --install       up: install missing packages (needs root and Debian 12); without it, the commands are printed
  --cluster       up: three nodes each of NATS, Restate and Incus instead of one (of the named engines, if you name any)
  --single        up: go back to one node each
  --secure        up: NATS requires TLS and credentials; only for a new state folder, which keeps it
  --purge         down: also delete the state folder with all data
  --json          status: print JSON
  --state DIR     use another state folder than .millrace in the repository, for a second site
  --port-base N   up: first of the site's 100 ports, stored in the state folder (default 17400);
                  \`auto\` takes the first free block

Single nodes and clusters have separate folders and ports. \`up --cluster\` after \`up\` starts the cluster
beside the single nodes, stops nothing and moves no data. From then on readEndpoints() returns the cluster's
addresses and a plain \`up\` restarts the cluster. \`up --single\` switches back. With names, this applies to
the named engines only. \`down --single\` or \`down --cluster\` stops one of the two; a plain \`down\` stops
both.

The hosts of an Incus cluster and their GPUs are simulated; its daemons and containers are real.

PostgreSQL, Valkey, Restate and, without --secure, NATS trust every local user. Run them only on a developer's machine or in CI.`;
