import { describe, expect, it } from 'vitest';
import { fakeApi, runCli } from '../fixture.ts';

const base = '/v2/on-demand/rentals/7';

describe('following a rental', () => {
  it('prints each part of the console once, until Ctrl-C', async () => {
    const stop = new AbortController();
    const shown = ['boot\n', 'boot\nlogin:', 'boot\nlogin:', 'boot\nlogin: root\n'];
    const { fetch, requests } = fakeApi({
      [`GET ${base}/console`]: () => {
        const output = shown[requests.length - 1] ?? '';
        if (requests.length === shown.length) stop.abort();
        return { rentalId: 7, output, truncated: false, readAt: '2026-03-01T12:00:00.000Z' };
      },
    });
    const result = await runCli(['logs', '7', '--follow'], { fetch, signal: stop.signal });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).toBe('boot\nlogin: root\n');
  });

  it('prints the console once without --follow, without control characters', async () => {
    const output = '\u001B[2Jlogin:\u0007';
    const console = { rentalId: 7, output, truncated: true, readAt: '2026-03-01T12:00:00.000Z' };
    const { fetch } = fakeApi({ [`GET ${base}/console`]: console });
    const result = await runCli(['logs', '7'], { fetch });
    expect(result.stdout).toMatch(/^[^\u001B\u0007]*login:[^\u001B\u0007]*\n$/);
    expect(result.stderr).toContain('Earlier output is omitted');
    await runCli(['logs', '7', '--json'], { fetch });
  });

  it('prints one line per event, until Ctrl-C', async () => {
    const stop = new AbortController();
    const event = {
      ...{
        id: 'evt_1',
        type: 'rental.running',
        seq: 3,
        occurredAt: '2026-03-01T12:00:00.000Z',
        apiVersion: '2.0.0',
      },
      ...{ orgId: 'org_1', mode: 'test', resource: { kind: 'rental', id: '7' } },
      ...{ actor: { kind: 'system', id: 'worker' }, data: { rentalId: 7 } },
    };
    const { fetch } = fakeApi({
      [`GET ${base}/events`]: ({ signal }: { readonly signal: AbortSignal }) => {
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => {
            controller.enqueue(Buffer.from(`id: 3\ndata: ${JSON.stringify(event)}\n\n`));
            signal.addEventListener('abort', () => controller.error(new DOMException('left', 'AbortError')));
          },
          pull: () => void setImmediate(() => stop.abort()),
        });
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
      },
    });
    const result = await runCli(['rental', 'events', '7', '--follow', '--json'], {
      fetch,
      signal: stop.signal,
    });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.json()).toEqual(event);
  });
});
