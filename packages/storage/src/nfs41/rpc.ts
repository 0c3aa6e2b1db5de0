import { connect, type Socket } from 'node:net';
import type { Clock } from '@millrace/platform/clock';
import { MalformedResponseError, XdrReader, XdrWriter } from './xdr.ts';

export interface RpcOptions {
  readonly host: string;
  readonly port: number;
  /** Local source address: the server identifies clients by address only. */
  readonly localAddress?: string;
  /** Identity in AUTH_SYS, which the server does not verify. */
  readonly uid?: number;
  readonly gid?: number;
  readonly clock: Clock;
  /** Applies to connecting and to each call. */
  readonly timeoutMs: number;
}

const nfsProgram = 100_003;
const nfsVersion = 4;
const compoundProcedure = 1;
const authSys = 1;
const lastFragment = 0x8000_0000;
/** Maximum size of a response; requests ask for less. */
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

  /** Sends the arguments of a COMPOUND and returns its results. */
  async compound(args: Buffer): Promise<XdrReader> {
    const xid = this.#nextXid;
    this.#nextXid += 1;
    const call = new XdrWriter();
    call.u32(xid).u32(0).u32(2).u32(nfsProgram).u32(nfsVersion).u32(compoundProcedure);
    call.u32(authSys).opaque(this.#credential).u32(0).opaque('').fixed(args);
    const response = new XdrReader(await this.#exchange(xid, call.bytes()));
    response.u32();
    if (response.u32() !== 1) throw new MalformedResponseError('The received message is not an RPC reply.');
    if (response.u32() !== 0)
      throw new Error(`The server refused the RPC call (${response.u32()}, ${response.u32()}).`);
    response.u32();
    response.opaque();
    const accepted = response.u32();
    if (accepted !== 0) throw new Error(`The server could not process the RPC call (${accepted}).`);
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
      // A late response could be mistaken for that of another call, so a timeout ends the connection.
      const cancel = clock.after(timeoutMs, () => this.end(new Error(`no response within ${timeoutMs} ms`)));
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

  /** A record arrives in fragments, each with its length and a flag on the last one. */
  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    while (this.#received.length >= 4) {
      const mark = this.#received.readUInt32BE();
      const length = mark & ~lastFragment;
      if (this.#recordBytes + length > maxBytes) {
        this.end(new MalformedResponseError(`The server sent more than ${maxBytes} bytes.`));
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
      this.end(new MalformedResponseError('The server sent a record without an xid.'));
      return;
    }
    const xid = record.readUInt32BE();
    this.#waiting.get(xid)?.resolve(record);
    this.#waiting.delete(xid);
  }
}
