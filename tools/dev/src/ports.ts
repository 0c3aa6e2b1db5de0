import { Failure, isPortFree, portHolder } from '@millrace/services';

export interface DevPorts {
  readonly api: number;
  readonly workerHealth: number;
  /** Restate calls the worker's handlers here. */
  readonly handlers: number;
  readonly gateway: number;
  readonly gatewayHealth: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

export const DEFAULT_PORT = 8_080;
const STEP = 10;
const MAX_TRIES = 100;

export function portsFrom(port: number, environment: Environment): DevPorts {
  const set = (name: string, otherwise: number): number => Number(environment[name] ?? otherwise);
  return {
    api: port,
    workerHealth: set('MILLRACE_WORKER_HEALTH_PORT', port + 1),
    handlers: set('MILLRACE_RESTATE_ENDPOINT_PORT', port + 1_000),
    gateway: port + 2,
    gatewayHealth: set('MILLRACE_GATEWAY_HEALTH_PORT', port + 3),
  };
}

/** Ports are checked before the start, because another program on one of them could be mistaken for a process of the demo. */
export async function choosePorts(wanted: number | undefined, environment: Environment): Promise<DevPorts> {
  if (wanted !== undefined) {
    const ports = portsFrom(wanted, environment);
    const taken = await firstTaken(ports);
    if (taken === null) return ports;
    throw takenFailure(taken, `use another port: npm run dev -- --port ${String(wanted + STEP)}`);
  }
  for (let index = 0; index < MAX_TRIES; index += 1) {
    const ports = portsFrom(DEFAULT_PORT + index * STEP, environment);
    if ((await firstTaken(ports)) === null) return ports;
  }
  const taken = await firstTaken(portsFrom(DEFAULT_PORT, environment));
  if (taken === null) return portsFrom(DEFAULT_PORT, environment);
  throw takenFailure(taken, 'choose a free port: npm run dev -- --port PORT');
}

interface TakenPort {
  readonly user: string;
  readonly port: number;
}

async function firstTaken(ports: DevPorts): Promise<TakenPort | null> {
  const needed = {
    'the api': ports.api,
    "the worker's health": ports.workerHealth,
    Restate: ports.handlers,
    'the gateway': ports.gateway,
    "the gateway's health": ports.gatewayHealth,
  };
  for (const [user, port] of Object.entries(needed)) {
    if (!(await isPortFree(port))) return { user, port };
  }
  return null;
}

function takenFailure({ user, port }: TakenPort, remedy: string): Failure {
  const holder = portHolder(port);
  const held = holder === null ? 'another process' : `process ${String(holder.pid)} (${holder.command})`;
  return new Failure(
    `Port ${String(port)}, which ${user} needs, is held by ${held}.`,
    `If npm run dev already runs, stop it, or ${remedy}`,
  );
}
