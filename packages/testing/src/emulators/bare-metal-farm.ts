import { startHttpDouble, type DoubleResponse, type DoubleRequest } from '../doubles/http-double.ts';
import { EmulatedMachine, type BootDisk, type MachineRuntime } from './emulated-machine.ts';
import { handleManager, redfishError, serviceRoot, handleSystem, type RedfishCall } from './redfish.ts';
import { sshSystems } from './ssh-system.ts';

/** Emulated machines, each with a BMC that supports Redfish, which run the media that they boot. */
export interface BareMetalFarm extends AsyncDisposable {
  readonly url: string;
  readonly machines: readonly EmulatedMachine[];
}

export interface FarmOptions {
  readonly count: number;
  /** Runs a deployed disk; by default a system with an SSH server. */
  readonly boot?: BootDisk;
  /** Replaces the emulated agent and system. */
  readonly body?: MachineRuntime;
}

const machinePath = /^\/redfish\/v1\/(Systems|Managers)\/(\d+)(?:\/(.*))?$/;
const agentPath = /^\/agents\/(\d+)\/v1\/commands\/?$/;

export async function startBareMetalFarm({ count, boot, body }: FarmOptions): Promise<BareMetalFarm> {
  const systems = sshSystems();
  const machines: EmulatedMachine[] = [];
  const server = await startHttpDouble((request) => handleRequest(machines, request));
  const port = Number(new URL(server.url).port);
  for (let index = 0; index < count; index += 1) {
    machines.push(
      new EmulatedMachine(machineIdentity(index, port, server.url), boot ?? systems.boot, body ?? null),
    );
  }
  return {
    url: server.url,
    machines,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(machines.map((machine) => machine.powerOff()));
      await server[Symbol.asyncDispose]();
      await systems[Symbol.asyncDispose]();
    },
  };
}

/** Two farms never share a port at a time, so their machines never share an address. */
function machineIdentity(index: number, port: number, farmUrl: string) {
  const address = `127.${64 + (port >> 10)}.${(port >> 2) & 255}.${((port & 3) << 6) + index + 1}`;
  return { index, address, farmUrl };
}

async function handleRequest(
  machines: readonly EmulatedMachine[],
  request: DoubleRequest,
): Promise<DoubleResponse> {
  const path = request.path.replace(/(?<=.)\/+$/, '');
  const body = (request.body ?? {}) as Readonly<Record<string, unknown>>;
  const [, agentOf] = agentPath.exec(path) ?? [];
  if (agentOf !== undefined) return handleAgentRequest(machines[Number(agentOf)], request.method, body);
  const open = serviceRoot(
    path,
    machines.map(({ id }) => id),
  );
  if (open !== null) return open;
  const [, kind, id, rest = ''] = machinePath.exec(path) ?? [];
  const machine = machines[Number(id)];
  if (kind === undefined || machine === undefined) return redfishError(404, `There is no ${path}.`);
  await machine.hesitate();
  const credentials = Buffer.from(`${machine.username}:${machine.password}`).toString('base64');
  if (request.headers.authorization !== `Basic ${credentials}`)
    return redfishError(401, 'Authentication is required.');
  const { bmcStatus } = machine.faults;
  if (bmcStatus !== null) return redfishError(bmcStatus, 'This BMC is broken.');
  const call: RedfishCall = { method: request.method, path: rest, body };
  return kind === 'Systems' ? handleSystem(machine, call) : handleManager(machine, call);
}

function handleAgentRequest(
  machine: EmulatedMachine | undefined,
  method: string,
  body: Readonly<Record<string, unknown>>,
): DoubleResponse {
  const agent = machine?.agent;
  if (agent == null) return { status: 503, body: { faultstring: 'No agent runs here.' } };
  if (method !== 'POST') return { status: 200, body: { commands: agent.commands } };
  const params = (body['params'] ?? {}) as Readonly<Record<string, unknown>>;
  return { status: 200, body: agent.take(String(body['name']), params) };
}
