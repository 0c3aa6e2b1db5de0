import { connect } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import { createGatewayHarness } from './gateway.fixture.ts';

const harness = await createGatewayHarness({ models: [] });
afterAll(() => harness.close());

const mebibyte = 1_048_576;

/** A client that writes the whole request before it reads, as many HTTP libraries do. Rejects if the connection is reset. */
function upload(path: string, contentType: string, bytes: number): Promise<string> {
  const { port, hostname } = new URL(harness.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    socket.on('error', reject);
    socket.pause();
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${harness.key}\r\ncontent-type: ${contentType}\r\ncontent-length: ${bytes}\r\n\r\n`,
    );
    const chunk = Buffer.alloc(mebibyte, 0x20);
    const writeOn = (left: number): void => {
      if (left > 0) {
        const next = chunk.subarray(0, Math.min(left, chunk.length));
        socket.write(next, (error) => (error ? reject(error) : writeOn(left - next.length)));
        return;
      }
      let text = '';
      socket.on('data', (data: Buffer) => (text += data.toString('latin1')));
      socket.on('close', () => resolve(text));
      socket.resume();
    };
    writeOn(bytes);
  });
}

describe('refused upload', () => {
  test('to an unknown path gets a readable 404 on each of 20 connections', async () => {
    const type = 'multipart/form-data; boundary=x';
    const all = Array.from({ length: 20 }, () => upload('/v1/audio/transcriptions', type, mebibyte));
    const responses = await Promise.all(all);
    expect(responses.map((response) => response.slice(0, 12))).toEqual(responses.map(() => 'HTTP/1.1 404'));
    expect(responses[0]).toContain('"code":"route_not_found"');
  });

  test('above the size limit gets a readable 413', async () => {
    const response = await upload('/v1/chat/completions', 'application/json', 40 * mebibyte);
    expect(response).toMatch(/^HTTP\/1\.1 413 /);
    expect(response).toContain('"code":"body_too_large"');
  });
});
