import { generateKeyPairSync } from 'node:crypto';
import { seedOrganisation, type SeededOrganisation } from '@millrace/core/fixture';
import { startApiFixture, type ApiFixture } from '../../apps/api/src/api.fixture.ts';
import { contract, type Operation, type Scope } from '@millrace/contract';
import { uniqueId, type CallResponse } from '@millrace/testing';

/** The control plane on real engines with two unrelated organisations and an operator. */
export interface Harness {
  readonly fixture: ApiFixture;
  readonly acme: SeededOrganisation;
  readonly other: SeededOrganisation;
  readonly operator: SeededOrganisation;
}

export async function startHarness(): Promise<Harness> {
  const fixture = await startApiFixture({ openDocuments: true });
  return {
    fixture,
    acme: await seedOrganisation(fixture.db, { supplies: true }),
    other: await seedOrganisation(fixture.db, { supplies: true }),
    operator: await seedOrganisation(fixture.db, { platformRole: 'operator' }),
  };
}

export interface CallInput {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export async function callOperation(
  harness: Harness,
  operation: Operation,
  input: CallInput,
  key: string | undefined,
  path: string = operation.path,
): Promise<CallResponse> {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(paramOf(input, name)));
  const query = new URLSearchParams(input.query ?? {}).toString();
  return harness.fixture.call({
    method: operation.method,
    path: query === '' ? filled : `${filled}?${query}`,
    ...(key === undefined ? {} : { key }),
    ...(input.body === undefined ? {} : { body: input.body }),
    ...(input.headers === undefined ? {} : { headers: input.headers }),
  });
}

function paramOf(input: CallInput, name: string): string {
  const value = input.params?.[name];
  if (value === undefined) throw new Error(`The call has no path parameter ${name}.`);
  return value;
}

/** Creates a key of the owner with all of the owner's scopes except one. */
export async function keyWithout(harness: Harness, who: SeededOrganisation, scope: Scope): Promise<string> {
  const me = await callOperation(harness, contract.operations.getMe, {}, who.owner.key);
  const scopes = (me.json.scopes as readonly Scope[]).filter((each) => each !== scope);
  const body = { name: `without ${scope}`, scopes };
  const made = await callOperation(harness, contract.operations.createApiKey, { body }, who.owner.key);
  if (made.status !== 201) throw new Error(`Creating a key without ${scope} failed: ${made.text}`);
  return made.json.key as string;
}

/** A new SSH public key in OpenSSH format. */
export function newSshPublicKey(): string {
  const { publicKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32);
  const text = (value: Buffer) => Buffer.concat([uint32(value.length), value]);
  const blob = Buffer.concat([text(Buffer.from('ssh-ed25519')), text(raw)]);
  return `ssh-ed25519 ${blob.toString('base64')} ${uniqueId()}@example.com`;
}

function uint32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeUInt32BE(value);
  return buffer;
}
