import { DriverError } from '@millrace/compute';
import { exportPath, isHostAddress } from '@millrace/storage/wire';
import type { Folder } from './pool.ts';
import type { VolumeRecord } from './record.ts';

export interface ServerSettings {
  readonly nfsPort: number;
  readonly leaseSeconds: number;
}

const probeNetwork = '127.254.';

/**
 * Source address of the probe that checks whether a server uses this generation of its list. It is a loopback address that only
 * this generation admits, and it can read attributes only.
 */
export function probeAddress(generation: number): string {
  return `${probeNetwork}${(generation >> 8) & 0xff}.${generation & 0xff}`;
}

export function isProbeAddress(address: string): boolean {
  return address.startsWith(probeNetwork);
}

/**
 * Renders the configuration of one volume's server. Its only tenant input is addresses that were validated. Other clients see an
 * empty root folder. `Server_Owner` differs per volume, because clients treat two servers with one name as one server with two
 * addresses.
 */
export function renderConfig(folder: Folder, record: VolumeRecord, settings: ServerSettings): string {
  return `# Written by the Millrace storage agent, which replaces it as a whole.
NFS_CORE_PARAM {
  Protocols = 4;
  Bind_addr = ${record.vip};
  NFS_Port = ${settings.nfsPort};
  Enable_NLM = false;
  Enable_RQUOTA = false;
  Enable_UDP = false;
  mount_path_pseudo = true;
}
NFSv4 {
  Minor_Versions = 1, 2;
  RecoveryBackend = fs;
  RecoveryRoot = "${folder.recovery}";
  Lease_Lifetime = ${settings.leaseSeconds};
  Grace_Period = ${settings.leaseSeconds};
  Only_Numeric_Owners = true;
  Server_Scope = "${record.externalId}";
  Server_Owner = "${record.externalId}";
}
NFS_KRB5 {
  Active_krb5 = false;
}
EXPORT_DEFAULTS {
  Access_Type = NONE;
}
EXPORT {
  Export_Id = 1;
  Path = "${folder.mount}";
  Pseudo = "${exportPath}";
  Access_Type = NONE;
  Protocols = 4;
  Transports = TCP;
  SecType = sys;
  Squash = no_root_squash;
  FSAL {
    Name = VFS;
  }
  CLIENT {
    Clients = ${probeAddress(record.generation)};
    Access_Type = MDONLY_RO;
    Protocols = 4;
    Squash = all_squash;
  }
${record.clients.map(renderClient).join('')}}
LOG {
  Default_Log_Level = EVENT;
}
`;
}

function renderClient(address: string): string {
  return `  CLIENT {
    Clients = ${address};
    Access_Type = RW;
    Protocols = 4;
  }
`;
}

interface Block {
  readonly name: string;
  readonly options: ReadonlyMap<string, string>;
  readonly blocks: readonly Block[];
}

const opening = /^\s*([A-Za-z_0-9]+) \{$/;
const closing = /^\s*\}$/;
const option = /^\s*([A-Za-z_0-9]+) = ("[A-Za-z0-9._/-]+"|[A-Za-z0-9._]+(?:, [A-Za-z0-9._]+)*);$/;

/** Parses the subset of Ganesha's language that `renderConfig` writes; null for anything else. */
function parseBlocks(text: string): readonly Block[] | null {
  const top = { name: '', options: new Map<string, string>(), blocks: [] as Block[] };
  const open = [top];
  for (const line of text.split('\n')) {
    const block = open.at(-1);
    if (block === undefined) return null;
    const [, name] = opening.exec(line) ?? [];
    const [, key, value] = option.exec(line) ?? [];
    if (name !== undefined) {
      const inner = { name, options: new Map<string, string>(), blocks: [] };
      block.blocks.push(inner);
      open.push(inner);
    } else if (key !== undefined && value !== undefined) {
      if (block === top || block.options.has(key)) return null;
      block.options.set(key, value);
    } else if (closing.test(line)) {
      open.pop();
    } else if (line !== '' && !line.startsWith('#')) {
      return null;
    }
  }
  return open.length === 1 && open[0] === top ? top.blocks : null;
}

/** The access rules of a configuration, or null if it cannot be parsed. */
export function readConfig(
  text: string,
): { readonly vip: string; readonly probe: string; readonly clients: readonly string[] } | null {
  const blocks = parseBlocks(text) ?? [];
  const only = (name: string): Block | undefined => {
    const found = blocks.filter((block) => block.name === name);
    return found.length === 1 ? found[0] : undefined;
  };
  const [core, given, defaults] = [only('NFS_CORE_PARAM'), only('EXPORT'), only('EXPORT_DEFAULTS')];
  if (core === undefined || given === undefined) return null;
  const isClosed = [given, defaults].every((block) => block?.options.get('Access_Type') === 'NONE');
  if (!isClosed || defaults?.blocks.length !== 0) return null;
  const lists = given.blocks.filter(({ name }) => name === 'CLIENT').map(({ options }) => options);
  const [probe, ...clients] = lists.map((options) => options.get('Clients') ?? '');
  const [seen, ...written] = lists.map((options) => options.get('Access_Type'));
  const vip = core.options.get('Bind_addr') ?? '';
  const areHosts = [vip, probe ?? '', ...clients].every((address) => isHostAddress(address));
  if (probe === undefined || !areHosts || seen !== 'MDONLY_RO' || written.some((type) => type !== 'RW'))
    return null;
  return { vip, probe, clients };
}

/** Must run before SIGHUP: a server that cannot parse the file drops its exports, and a wrong list admits wrong clients. */
export function checkConfig(text: string, record: VolumeRecord): void {
  const read = readConfig(text);
  const isRight =
    read !== null &&
    read.vip === record.vip &&
    read.probe === probeAddress(record.generation) &&
    read.clients.length === record.clients.length &&
    read.clients.every((client, index) => client === record.clients[index]);
  if (!isRight)
    throw new DriverError(
      'failed',
      'The configuration of the NFS server does not match the record of the volume.',
    );
}
