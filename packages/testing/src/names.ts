import { randomBytes } from 'node:crypto';

/**
 * Names no other test file, run or developer on the same engines can collide with. Engines are shared by
 * every test file (starting one per file would cost minutes), so isolation is by name: a database of its own
 * in PostgreSQL, a key prefix in Valkey, a stream and subject prefix in NATS.
 */
export interface TestNames {
  readonly id: string;
  readonly valkeyPrefix: string;
  /** Streams are named in capitals, subjects in lower case, as everywhere in Millrace. */
  readonly natsPrefix: string;
  readonly natsStream: (name: string) => string;
  readonly natsSubject: (name: string) => string;
  readonly restateService: (name: string) => string;
}

/** Begins with a letter: the auditor takes a number for the id of a real rental or instance. */
export function uniqueId(): string {
  return `f${randomBytes(5).toString('hex').slice(1)}`;
}

/** Starts with the owner's pid, so that what a killed run leaves behind can be told from what is in use. */
function ownedId(): string {
  return `${process.pid.toString(36)}x${uniqueId()}`;
}

const OWNED_STREAM = /^(?:KV_)?T([0-9A-Z]+?)X[0-9A-F]{10}_/;

/** The pid of the test process a stream belongs to; null when it is no test's. */
export function ownerOfStream(stream: string): number | null {
  const owner = OWNED_STREAM.exec(stream)?.[1];
  return owner === undefined ? null : Number.parseInt(owner, 36);
}

export function testNames(id: string = ownedId()): TestNames {
  return {
    id,
    valkeyPrefix: `t:${id}:`,
    natsPrefix: `t${id}`,
    natsStream: (name) => `T${id.toUpperCase()}_${name}`,
    natsSubject: (name) => `t${id}.${name}`,
    restateService: (name) => `${name}_t${id}`,
  };
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
