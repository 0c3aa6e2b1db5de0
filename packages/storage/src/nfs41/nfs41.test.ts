import { createServer, type AddressInfo, type Socket } from 'node:net';
import { systemClock } from '@millrace/platform/clock';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { Nfs41Client } from './index.ts';
import { MalformedResponseError, XdrReader, XdrWriter } from './xdr.ts';

describe('XDR', () => {
  it('reads the values that it wrote', () => {
    fc.assert(
      fc.property(
        fc.nat(0xffff_ffff),
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        fc.uint8Array({ maxLength: 70 }),
        (small, large, bytes) => {
          const written = new XdrWriter().u32(small).opaque(Buffer.from(bytes)).u64(large).bytes();
          expect(written.length % 4).toBe(0);
          const reader = new XdrReader(written);
          expect([reader.u32(), Uint8Array.from(reader.opaque()), reader.u64()]).toEqual([
            small,
            bytes,
            large,
          ]);
          expect(() => reader.u32()).toThrow(MalformedResponseError);
        },
      ),
    );
  });

  it('never reads past the end, whatever lengths the input claims', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        for (const read of ['opaque', 'bitmap', 'u64'] as const) {
          try {
            new XdrReader(Buffer.from(bytes))[read]();
          } catch (error) {
            expect(error).toBeInstanceOf(MalformedResponseError);
          }
        }
      }),
    );
  });
});

describe('Nfs41Client with a misbehaving server', () => {
  const closing: (() => void)[] = [];
  afterEach(() => {
    for (const close of closing.splice(0)) close();
  });

  async function exchange(
    response: (socket: Socket, call: Buffer) => void,
    timeoutMs = 60_000,
  ): Promise<unknown> {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (call: Buffer) => response(socket, call));
      closing.push(() => socket.destroy());
    });
    closing.push(() => server.close());
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const { port } = server.address() as AddressInfo;
    return Nfs41Client.connect({ host: '127.0.0.1', port, clock: systemClock, timeoutMs }).then(
      () => 'connected',
      (error: Error) => error.message,
    );
  }

  const record = (...words: readonly number[]): Buffer => {
    const body = new XdrWriter();
    for (const word of words) body.u32(word);
    const bytes = body.bytes();
    return Buffer.concat([new XdrWriter().u32((0x8000_0000 | bytes.length) >>> 0).bytes(), bytes]);
  };

  it('fails on timeout, closed connection, oversized record and malformed responses', async () => {
    expect(await exchange(() => {}, 300)).toContain('no response within');
    expect(await exchange((socket) => socket.destroy())).toContain('closed');
    expect(await exchange((socket) => socket.write(new XdrWriter().u32(0xffff_ffff).bytes()))).toContain(
      'more than',
    );
    expect(await exchange((socket) => socket.write(record(1)))).toContain('ends before');
    expect(await exchange((socket) => socket.write(record(1, 0)))).toContain('not an RPC reply');
    expect(await exchange((socket) => socket.write(record(1, 1, 1, 1, 2)))).toContain('refused the RPC call');
    expect(await exchange((socket) => socket.write(record(1, 1, 0, 0, 0, 2)))).toContain('could not process');
    expect(await exchange((socket) => socket.write(record(1, 1, 0, 0, 0, 0, 10_021, 0, 0)))).toContain(
      'MINOR_VERS_MISMATCH',
    );
    expect(await exchange((socket) => socket.write(record(1, 1, 0, 0, 0, 0, 0, 0, 1, 43, 0)))).toContain(
      'instead of',
    );
    expect(await exchange((socket) => socket.write(record()))).toContain('without an xid');
  });
});
