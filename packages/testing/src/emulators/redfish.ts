import { gpuCount, type EmulatedMachine } from './emulated-machine.ts';

// The Redfish resources that Ironic reads. Real BMCs have separate addresses; these differ in their path.

export interface RedfishResponse {
  readonly status: number;
  readonly body: unknown;
}

const ok = (body: unknown): RedfishResponse => ({ status: 200, body });
const done: RedfishResponse = { status: 204, body: undefined };

export function redfishError(status: number, message: string): RedfishResponse {
  const code = 'Base.1.0.GeneralError';
  return {
    status,
    body: { error: { code, message, '@Message.ExtendedInfo': [{ MessageId: code, Message: message }] } },
  };
}

const root = '/redfish/v1';
const healthy = { State: 'Enabled', Health: 'OK' };
const link = (path: string) => ({ '@odata.id': path });

function collection(path: string, names: readonly string[]) {
  const members = names.map((name) => link(`${path}/${name}`));
  return { ...link(path), Name: path, 'Members@odata.count': members.length, Members: members };
}

/** The resources that need no authentication. */
export function serviceRoot(path: string, ids: readonly string[]): RedfishResponse | null {
  switch (path) {
    case '/redfish':
      return ok({ v1: `${root}/` });
    case root:
      return ok({
        ...link(`${root}/`),
        '@odata.type': '#ServiceRoot.v1_15_0.ServiceRoot',
        Id: 'RootService',
        Name: 'Emulated BMCs',
        RedfishVersion: '1.15.0',
        Systems: link(`${root}/Systems`),
        Managers: link(`${root}/Managers`),
        Links: {},
      });
    case `${root}/Systems`:
    case `${root}/Managers`:
      return ok(collection(path, ids));
    default:
      return null;
  }
}

export interface RedfishCall {
  readonly method: string;
  /** Relative to the machine's resource, without a leading slash. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export async function handleSystem(machine: EmulatedMachine, call: RedfishCall): Promise<RedfishResponse> {
  const at = `${root}/Systems/${machine.id}`;
  const here = `${at}/${call.path}`;
  if (call.path === '' && call.method === 'GET') return ok(systemOf(machine, at));
  if (call.path === '' && call.method === 'PATCH') return setBoot(machine, call.body['Boot']);
  if (call.path === 'Actions/ComputerSystem.Reset') {
    const type = String(call.body['ResetType']);
    return (await machine.reset(type)) ? done : redfishError(400, `There is no reset ${type}.`);
  }
  const [kind = '', name] = call.path.split('/');
  const members = hardwareCollections(machine)[kind];
  if (members === undefined) return redfishError(404, `There is no ${here}.`);
  if (name === undefined) return ok(collection(here, Object.keys(members)));
  const part = members[name];
  return part === undefined
    ? redfishError(404, `There is no ${here}.`)
    : ok({ ...link(here), Id: name, Name: name, Status: healthy, ...part });
}

function systemOf(machine: EmulatedMachine, at: string) {
  const { boot } = machine;
  return {
    ...link(at),
    '@odata.type': '#ComputerSystem.v1_20_0.ComputerSystem',
    Id: machine.id,
    Name: `emulated-${machine.id}`,
    UUID: machine.uuid,
    SystemType: 'Physical',
    Manufacturer: 'Millrace emulator',
    Model: 'Eight emulated GPUs',
    SerialNumber: `EMU${machine.index}`,
    PowerState: machine.power,
    Status: healthy,
    Boot: {
      BootSourceOverrideEnabled: boot.enabled,
      BootSourceOverrideTarget: boot.target,
      BootSourceOverrideMode: boot.mode,
      'BootSourceOverrideTarget@Redfish.AllowableValues': ['None', 'Pxe', 'Cd', 'Hdd'],
      'BootSourceOverrideMode@Redfish.AllowableValues': ['UEFI', 'Legacy'],
    },
    ProcessorSummary: { Count: 2, Model: 'Emulated CPU', Status: healthy },
    MemorySummary: { TotalSystemMemoryGiB: 2048, Status: healthy },
    Processors: link(`${at}/Processors`),
    EthernetInterfaces: link(`${at}/EthernetInterfaces`),
    SimpleStorage: link(`${at}/SimpleStorage`),
    Links: { ManagedBy: [link(`${root}/Managers/${machine.id}`)], Chassis: [] },
    Actions: {
      '#ComputerSystem.Reset': {
        target: `${at}/Actions/ComputerSystem.Reset`,
        'ResetType@Redfish.AllowableValues': [
          'On',
          'ForceOn',
          'ForceOff',
          'GracefulShutdown',
          'ForceRestart',
          'GracefulRestart',
          'Nmi',
        ],
      },
    },
  };
}

type HardwareCollections = Readonly<Record<string, Readonly<Record<string, object>>>>;

function hardwareCollections(machine: EmulatedMachine): HardwareCollections {
  const cpu = {
    ProcessorType: 'CPU',
    ProcessorArchitecture: 'x86',
    InstructionSet: 'x86-64',
    Model: 'Emulated CPU',
    TotalCores: 56,
    TotalThreads: 112,
  };
  const gpu = { ProcessorType: 'GPU', Manufacturer: 'NVIDIA', Model: 'H100 SXM5 80GB' };
  const gpus = Array.from({ length: gpuCount }, (_, nth) => [`gpu${nth}`, { ...gpu, Socket: `gpu${nth}` }]);
  return {
    Processors: {
      cpu0: { ...cpu, Socket: 'cpu0' },
      cpu1: { ...cpu, Socket: 'cpu1' },
      ...(Object.fromEntries(gpus) as Record<string, object>),
    },
    EthernetInterfaces: {
      nic0: { MACAddress: machine.mac, PermanentMACAddress: machine.mac, SpeedMbps: 400_000 },
    },
    SimpleStorage: {
      nvme: { Devices: [{ Name: 'nvme0', CapacityBytes: 3_840_000_000_000, Status: healthy }] },
    },
  };
}

function setBoot(machine: EmulatedMachine, request: unknown): RedfishResponse {
  const {
    BootSourceOverrideEnabled: enabled = machine.boot.enabled,
    BootSourceOverrideTarget: target = machine.boot.target,
    BootSourceOverrideMode: mode = machine.boot.mode,
  } = (request ?? {}) as Record<string, string>;
  if (enabled !== 'Disabled' && enabled !== 'Once' && enabled !== 'Continuous') {
    return redfishError(400, `There is no override ${enabled}.`);
  }
  machine.boot = { enabled, target, mode };
  return done;
}

export async function handleManager(machine: EmulatedMachine, call: RedfishCall): Promise<RedfishResponse> {
  const at = `${root}/Managers/${machine.id}`;
  switch (call.path) {
    case '':
      return ok({
        ...link(at),
        '@odata.type': '#Manager.v1_17_0.Manager',
        Id: machine.id,
        Name: 'Emulated BMC',
        UUID: machine.uuid,
        ManagerType: 'BMC',
        FirmwareVersion: '1.0',
        Status: healthy,
        VirtualMedia: link(`${at}/VirtualMedia`),
        Links: { ManagerForServers: [link(`${root}/Systems/${machine.id}`)] },
      });
    case 'VirtualMedia':
      return ok(collection(`${at}/VirtualMedia`, ['Cd']));
    case 'VirtualMedia/Cd':
      return ok(virtualMedia(machine, `${at}/VirtualMedia/Cd`));
    case 'VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia':
      return insert(machine, String(call.body['Image']));
    case 'VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia':
      machine.media = null;
      return done;
    default:
      return redfishError(404, `There is no ${at}/${call.path}.`);
  }
}

function virtualMedia({ media }: EmulatedMachine, at: string) {
  return {
    ...link(at),
    '@odata.type': '#VirtualMedia.v1_6_0.VirtualMedia',
    Id: 'Cd',
    Name: 'Virtual CD',
    MediaTypes: ['CD', 'DVD'],
    Image: media?.url ?? null,
    ImageName: media === null ? null : 'boot.iso',
    Inserted: media !== null,
    WriteProtected: true,
    ConnectedVia: media === null ? 'NotConnected' : 'URI',
    Actions: {
      '#VirtualMedia.InsertMedia': { target: `${at}/Actions/VirtualMedia.InsertMedia` },
      '#VirtualMedia.EjectMedia': { target: `${at}/Actions/VirtualMedia.EjectMedia` },
    },
  };
}

/** A BMC loads the image from the given URL over the network. */
async function insert(machine: EmulatedMachine, url: string): Promise<RedfishResponse> {
  const response = await fetch(url);
  if (!response.ok) return redfishError(500, `The image cannot be read: ${response.status}.`);
  machine.media = { url, image: Buffer.from(await response.arrayBuffer()) };
  return done;
}
