import { randomBytes } from 'node:crypto';

/**
 * Names that do not collide with other test files, runs or developers on the same engines. Test files share engines,
 * because starting one per file would take minutes, so they are isolated by name: a database in PostgreSQL, a key
 * prefix in Valkey, a stream and subject prefix in NATS.
 */
export interface TestNames {
  readonly id: string;
  readonly valkeyPrefix: string;
  /** Streams have uppercase names, subjects lowercase, as everywhere in Millrace. */
  readonly natsPrefix: string;
  readonly natsStream: (name: string) => string;
  readonly natsSubject: (name: string) => string;
  readonly restateService: (name: string) => string;
}

/** Starts with a letter, because the auditor would take a number for the id of a real rental or instance. */
export function uniqueId(): string {
  return `f${randomBytes(5).toString('hex').slice(1)}`;
}

/** Starts with the owner's pid, which distinguishes leftovers of killed runs. */
function ownedId(): string {
  return `${process.pid.toString(36)}x${uniqueId()}`;
}

const OWNED_STREAM = /^(?:KV_)?T([0-9A-Z]+?)X[0-9A-F]{10}_/;

/** The pid of the test process that owns a stream; null if it is not a test stream. */
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
