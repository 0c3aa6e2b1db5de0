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

export function uniqueId(): string {
  return randomBytes(5).toString('hex');
}

export function testNames(id: string = uniqueId()): TestNames {
  return {
    id,
    valkeyPrefix: `t:${id}:`,
    natsPrefix: `t${id}`,
    natsStream: (name) => `T${id.toUpperCase()}_${name}`,
    natsSubject: (name) => `t${id}.${name}`,
    restateService: (name) => `${name}_t${id}`,
  };
}
