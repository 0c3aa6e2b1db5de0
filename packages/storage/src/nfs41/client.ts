import { randomBytes } from 'node:crypto';
import { RpcConnection, type RpcOptions } from './rpc.ts';
import { NfsError } from './status.ts';
import { MalformedResponseError, XdrWriter, type XdrReader } from './xdr.ts';

export interface Nfs41Options extends RpcOptions {
  /** A client with the same owner and verifier can reclaim the files that it had open. */
  readonly owner?: string;
  readonly verifier?: Buffer;
}

/** An open file, or forged values of one in tests. */
export interface OpenFile {
  readonly handle: Buffer;
  readonly stateid: Buffer;
}

/** Reads and writes without an open file; the server checks only the permissions of the file. */
export const anonymousStateid: Buffer = Buffer.alloc(16);

const op = {
  close: 4,
  getattr: 9,
  getfh: 10,
  lookup: 15,
  open: 18,
  putfh: 22,
  putrootfh: 24,
  read: 25,
  remove: 28,
  write: 38,
  exchangeId: 42,
  createSession: 43,
  destroySession: 44,
  sequence: 53,
  destroyClientid: 57,
  reclaimComplete: 58,
} as const;

type OpName = keyof typeof op;

/** One operation of a COMPOUND: its arguments, and a parser of the result fields that are used. */
interface Operation<T> {
  readonly name: OpName;
  readonly args: XdrWriter;
  readonly read: (result: XdrReader) => T;
}

const readVoid = (): void => undefined;
const newOperationArgs = (name: OpName): XdrWriter => new XdrWriter().u32(op[name]);

const putRoot: Operation<void> = { name: 'putrootfh', args: newOperationArgs('putrootfh'), read: readVoid };
const putHandle = (handle: Buffer): Operation<void> => ({
  name: 'putfh',
  args: newOperationArgs('putfh').opaque(handle),
  read: readVoid,
});
const getHandle: Operation<Buffer> = {
  name: 'getfh',
  args: newOperationArgs('getfh'),
  read: (result) => result.opaque(),
};

function lookupOperations(path: string): Operation<void>[] {
  const names = path.split('/').filter((name) => name !== '');
  return [
    putRoot,
    ...names.map((name) => ({
      name: 'lookup' as const,
      args: newOperationArgs('lookup').opaque(name),
      read: readVoid,
    })),
  ];
}

const minorVersion = 1;
const sessionIdBytes = 16;
const callBytes = 1_048_576 + 4_096;

/**
 * Minimal NFSv4.1 client (RFC 8881) with AUTH_SYS, to probe what a server grants to which client. It has no cache, locks,
 * delegations or recovery, and one call in flight. Handles are plain bytes, so tests can use a handle that the server never gave
 * to this client.
 */
export class Nfs41Client {
  readonly #rpc: RpcConnection;
  readonly #clientId: bigint;
  readonly #session: Buffer;
  #sequence = 1;
  #last: Promise<unknown> = Promise.resolve();

  /** Clients treat two servers with one name as one server with two addresses. */
  readonly serverName: string;

  private constructor(rpc: RpcConnection, met: ExchangeIdResult, session: Buffer) {
    this.#rpc = rpc;
    this.#clientId = met.clientId;
    this.#session = session;
    this.serverName = met.serverName;
  }

  /** Connects and creates a session. The server may still refuse every operation in it. */
  static async connect(options: Nfs41Options): Promise<Nfs41Client> {
    const rpc = await RpcConnection.open(options);
    try {
      const met = await runSingle(rpc, exchangeId(options));
      const session = await runSingle(rpc, createSession(met));
      return new Nfs41Client(rpc, met, session);
    } catch (error) {
      rpc.end();
      throw error;
    }
  }

  /** Declares that no more state is reclaimed; servers refuse to open files before that. */
  async reclaimComplete(): Promise<void> {
    await this.#run({
      name: 'reclaimComplete',
      args: newOperationArgs('reclaimComplete').u32(0),
      read: readVoid,
    });
  }

  async lookup(path: string): Promise<Buffer> {
    return this.#run(...lookupOperations(path), getHandle);
  }

  async open(folder: string, name: string, create = false): Promise<OpenFile> {
    return this.#open(lookupOperations(folder), create, (args) => args.u32(0).opaque(name));
  }

  /** Reclaims a file that the same owner had open before the server restarted. */
  async reclaim(handle: Buffer): Promise<OpenFile> {
    return this.#open([putHandle(handle)], false, (args) => args.u32(1).u32(0));
  }

  /** Writes synchronously and returns the number of bytes written. */
  async write(file: OpenFile, offset: number, data: Buffer | string): Promise<number> {
    const args = newOperationArgs('write').fixed(file.stateid).u64(BigInt(offset)).u32(2).opaque(data);
    return this.#run(putHandle(file.handle), { name: 'write', args, read: (result) => result.u32() });
  }

  async read(file: OpenFile, offset: number, length: number): Promise<Buffer> {
    const args = newOperationArgs('read').fixed(file.stateid).u64(BigInt(offset)).u32(length);
    const read = (result: XdrReader): Buffer => {
      result.u32();
      return result.opaque();
    };
    return this.#run(putHandle(file.handle), { name: 'read', args, read });
  }

  async size(handle: Buffer): Promise<bigint> {
    const sizeAttribute = 1 << 4;
    const read = (result: XdrReader): bigint => {
      if (result.bitmap()[0] !== sizeAttribute) throw new MalformedResponseError('The response has no size.');
      result.u32();
      return result.u64();
    };
    const args = newOperationArgs('getattr').u32(1).u32(sizeAttribute);
    return this.#run(putHandle(handle), { name: 'getattr', args, read });
  }

  async close(file: OpenFile): Promise<void> {
    const args = newOperationArgs('close').u32(0).fixed(file.stateid);
    await this.#run(putHandle(file.handle), { name: 'close', args, read: readVoid });
  }

  async remove(folder: string, name: string): Promise<void> {
    await this.#run(...lookupOperations(folder), {
      name: 'remove',
      args: newOperationArgs('remove').opaque(name),
      read: readVoid,
    });
  }

  /** Destroys session and client id on the server if the server still responds. */
  async end(): Promise<void> {
    try {
      const session = newOperationArgs('destroySession').fixed(this.#session);
      await runSingle(this.#rpc, { name: 'destroySession', args: session, read: readVoid });
      const client = newOperationArgs('destroyClientid').u64(this.#clientId);
      await runSingle(this.#rpc, { name: 'destroyClientid', args: client, read: readVoid });
    } catch {
      // The server is unreachable or has expired the client, so nothing has to be destroyed.
    } finally {
      this.#rpc.end();
    }
  }

  /** Closes the connection without destroying the session, as after a power failure. */
  drop(): void {
    this.#rpc.end();
  }

  async #open(
    way: readonly Operation<void>[],
    create: boolean,
    claim: (args: XdrWriter) => XdrWriter,
  ): Promise<OpenFile> {
    const [readAndWrite, wantNoDelegation] = [3, 0x400];
    const args = newOperationArgs('open')
      .u32(0)
      .u32(readAndWrite | wantNoDelegation)
      .u32(0);
    args.u64(this.#clientId).opaque('millrace');
    if (create) {
      // UNCHECKED4 with attribute 33, the mode.
      args.u32(1).u32(0).u32(2).u32(0).u32(2).opaque(new XdrWriter().u32(0o644).bytes());
    } else {
      args.u32(0);
    }
    claim(args);
    let stateid = anonymousStateid;
    const opening: Operation<void> = {
      name: 'open',
      args,
      read: (result) => {
        stateid = readOpened(result);
      },
    };
    const handle = await this.#run(...way, opening, getHandle);
    return { handle, stateid };
  }

  /** Runs one call and returns the result of its last operation. The session has one slot, so calls run one after the other. */
  #run<T>(...operations: readonly [...Operation<unknown>[], Operation<T>]): Promise<T> {
    const turn = this.#last.then(async () => {
      const args = newOperationArgs('sequence').fixed(this.#session).u32(this.#sequence).u32(0).u32(0).u32(0);
      const sequence: Operation<void> = {
        name: 'sequence',
        args,
        read: (result) => {
          this.#sequence += 1;
          result.fixed(sessionIdBytes + 5 * 4);
        },
      };
      return call(this.#rpc, [sequence, ...operations]);
    });
    this.#last = turn.catch(readVoid);
    return turn;
  }
}

function runSingle<T>(rpc: RpcConnection, operation: Operation<T>): Promise<T> {
  return call(rpc, [operation]);
}

async function call<T>(
  rpc: RpcConnection,
  operations: readonly [...Operation<unknown>[], Operation<T>],
): Promise<T> {
  const args = new XdrWriter().opaque('').u32(minorVersion).u32(operations.length);
  for (const operation of operations) args.fixed(operation.args.bytes());
  const results = await rpc.compound(args.bytes());
  const whole = results.u32();
  results.opaque();
  // A COMPOUND that is refused as a whole has no results.
  if (results.u32() === 0 && whole !== 0) throw new NfsError(whole, 'COMPOUND');
  let last: unknown;
  for (const { name, read } of operations) {
    const answered = results.u32();
    const status = results.u32();
    if (status !== 0) throw new NfsError(status, name.toUpperCase());
    if (answered !== op[name])
      throw new MalformedResponseError(`The response is for operation ${answered} instead of ${op[name]}.`);
    last = read(results);
  }
  return last as T;
}

interface ExchangeIdResult {
  readonly clientId: bigint;
  readonly sequence: number;
  readonly serverName: string;
}

function exchangeId({ owner, verifier }: Nfs41Options): Operation<ExchangeIdResult> {
  const args = newOperationArgs('exchangeId')
    .fixed(verifier ?? randomBytes(8))
    .opaque(owner ?? `millrace-${randomBytes(12).toString('hex')}`);
  // No flags, no state protection, no implementation id.
  args.u32(0).u32(0).u32(0);
  const read = (result: XdrReader): ExchangeIdResult => {
    const [clientId, sequence] = [result.u64(), result.u32()];
    result.u32();
    if (result.u32() !== 0)
      throw new MalformedResponseError('The server uses a state protection that was not requested.');
    result.u64();
    return { clientId, sequence, serverName: result.opaque().toString('utf8') };
  };
  return { name: 'exchangeId', args, read };
}

function createSession({ clientId, sequence }: ExchangeIdResult): Operation<Buffer> {
  const args = newOperationArgs('createSession').u64(clientId).u32(sequence).u32(0);
  const [operations, slots] = [16, 1];
  for (const _channel of ['fore', 'back']) {
    args.u32(0).u32(callBytes).u32(callBytes).u32(8_192).u32(operations).u32(slots).u32(0);
  }
  // Callback program with AUTH_NONE; this client serves no callbacks.
  args.u32(0x4000_0000).u32(1).u32(0);
  return { name: 'createSession', args, read: (result) => result.fixed(sessionIdBytes) };
}

/** Returns the stateid and skips the other fields. */
function readOpened(result: XdrReader): Buffer {
  const stateid = result.fixed(16);
  result.u32();
  result.u64();
  result.u64();
  result.u32();
  result.bitmap();
  const delegation = result.u32();
  const [none, noneExtended] = [0, 3];
  if (delegation === noneExtended) {
    const why = result.u32();
    const [contention, resource] = [1, 2];
    if (why === contention || why === resource) result.u32();
  } else if (delegation !== none) {
    throw new MalformedResponseError('The server delegated a file although no delegation was requested.');
  }
  return stateid;
}
