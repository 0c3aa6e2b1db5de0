import { connect, type Socket } from 'node:net';
import type { Clock } from '@millrace/platform/clock';
import { MalformedResponseError, XdrReader, XdrWriter } from './xdr.ts';

/** Where an NFS server is, and as whom it is spoken to. */
export interface RpcOptions {
  readonly host: string;
  readonly port: number;
  /** The address to come from, one of this machine's: to such a server it is the only identity. */
  readonly localAddress?: string;
  /** As whom, by AUTH_SYS: whatever the client says. */
  readonly uid?: number;
  readonly gid?: number;
  readonly clock: Clock;
  /** For connecting, and for each call. */
  readonly timeoutMs: number;
}

const nfsProgram = 100_003;
const nfsVersion = 4;
const compoundProcedure = 1;
const authSys = 1;
const lastFragment = 0x8000_0000;
/** The largest answer that is read. Servers are asked for less. */
const maxBytes = 4 * 1_048_576;

interface PendingCall {
  readonly resolve: (response: Buffer) => void;
  readonly reject: (error: Error) => void;
}

/** ONC RPC (RFC 5531) over one TCP connection, for COMPOUND calls of NFSv4. */
export class RpcConnection {
  readonly #socket: Socket;
  readonly #options: RpcOptions;
  readonly #credential: Buffer;
  readonly #waiting = new Map<number, PendingCall>();
  #received: Buffer = Buffer.alloc(0);
  #record: Buffer[] = [];
  #recordBytes = 0;
  #nextXid = 1;
  #ended: Error | null = null;

  private constructor(socket: Socket, options: RpcOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#credential = new XdrWriter()
      .u32(0)
      .opaque('millrace')
      .u32(options.uid ?? 0)
      .u32(options.gid ?? 0)
      .u32(0)
      .bytes();
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.end(error));
    socket.on('close', () => this.end(new Error('the server closed the connection')));
  }

  static async open(options: RpcOptions): Promise<RpcConnection> {
    const { host, port, localAddress, clock, timeoutMs } = options;
    const socket = connect({ host, port, noDelay: true, ...(localAddress && { localAddress }) });
    await new Promise<void>((resolve, reject) => {
      const cancel = clock.after(timeoutMs, () =>
        socket.destroy(new Error(`no connection within ${timeoutMs} ms`)),
      );
      socket.once('connect', () => {
        cancel();
        resolve();
      });
      socket.once('error', (error) => {
        cancel();
        reject(error);
      });
    });
    return new RpcConnection(socket, options);
  }

  /** Sends the arguments of a COMPOUND and answers with its results. */
  async compound(args: Buffer): Promise<XdrReader> {
    const xid = this.#nextXid;
    this.#nextXid += 1;
    const call = new XdrWriter();
    call.u32(xid).u32(0).u32(2).u32(nfsProgram).u32(nfsVersion).u32(compoundProcedure);
    call.u32(authSys).opaque(this.#credential).u32(0).opaque('').fixed(args);
    const response = new XdrReader(await this.#exchange(xid, call.bytes()));
    response.u32();
    if (response.u32() !== 1) throw new MalformedResponseError('What came is not an answer.');
    if (response.u32() !== 0)
      throw new Error(`The server refused the call itself (${response.u32()}, ${response.u32()}).`);
    response.u32();
    response.opaque();
    const accepted = response.u32();
    if (accepted !== 0) throw new Error(`The server could not make sense of the call (${accepted}).`);
    return response;
  }

  end(error: Error = new Error('the connection was ended')): void {
    this.#ended ??= error;
    this.#socket.destroy();
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
  }

  #exchange(xid: number, call: Buffer): Promise<Buffer> {
    const { clock, timeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      if (this.#ended !== null) {
        reject(this.#ended);
        return;
      }
      // Whatever came later could not be told from the answer to another call, so the connection ends with it.
      const cancel = clock.after(timeoutMs, () => this.end(new Error(`no answer within ${timeoutMs} ms`)));
      this.#waiting.set(xid, {
        resolve: (response) => {
          cancel();
          resolve(response);
        },
        reject: (error) => {
          cancel();
          reject(error);
        },
      });
      const mark = new XdrWriter().u32((lastFragment | call.length) >>> 0).bytes();
      this.#socket.write(Buffer.concat([mark, call]));
    });
  }

  /** Records come in fragments, each with its length and whether it is the last. */
  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    while (this.#received.length >= 4) {
      const mark = this.#received.readUInt32BE();
      const length = mark & ~lastFragment;
      if (this.#recordBytes + length > maxBytes) {
        this.end(new MalformedResponseError(`The server answers more than ${maxBytes} bytes.`));
        return;
      }
      if (this.#received.length < 4 + length) return;
      this.#record.push(this.#received.subarray(4, 4 + length));
      this.#recordBytes += length;
      this.#received = this.#received.subarray(4 + length);
      if ((mark & lastFragment) !== 0) this.#deliver();
    }
  }

  #deliver(): void {
    const record = Buffer.concat(this.#record);
    this.#record = [];
    this.#recordBytes = 0;
    if (record.length < 4) {
      this.end(new MalformedResponseError('The server sent a record without a number.'));
      return;
    }
    const xid = record.readUInt32BE();
    this.#waiting.get(xid)?.resolve(record);
    this.#waiting.delete(xid);
  }
}
