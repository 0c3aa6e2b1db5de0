import { describe, expect, it } from 'vitest';
import { fakeApi, errorResponse, runCli } from '../fixture.ts';

const price = {
  ...{ id: 'prc_1', organisationId: null, subject: { kind: 'volume', region: null }, unit: 'gb_hour' },
  ...{ priceNanoUsd: '100000', validFrom: '2026-12-01T00:00:00.000Z', validUntil: null },
  createdAt: '2026-03-01T12:00:00.000Z',
};
const machine = { id: 'nod_1', name: 'm1', listed: true, pricePerGpuHourNanoUsd: '1500000000' };

describe('a generated command', () => {
  it('takes positional parameters, fields as flags, amounts in dollars and times as days', async () => {
    const api = fakeApi({ 'PATCH /v2/supplier/machines/nod_1': machine, 'GET /v2/supplier/earnings': {} });
    const args = ['supplier', 'machine', 'update', 'nod_1', '--no-listed', '--price-per-gpu-hour-usd', '1.5'];
    const run = await runCli(args, api);
    expect(run.stdout).toContain('price-per-gpu-hour');
    expect(api.requests[0]?.body).toEqual({ listed: false, pricePerGpuHourNanoUsd: '1500000000' });
    await runCli(['supplier', 'earnings', '--from', '2026-11-01'], api);
    expect(api.requests[1]?.query).toEqual({ from: '2026-11-01T00:00:00.000Z' });
  });

  it('takes the body from a file or standard input, and flags override it', async () => {
    const api = fakeApi({ 'POST /v2/admin/prices/prc_1/end': price });
    const args = ['admin', 'price', 'end', 'prc_1', '--json'];
    const files = { '/body.json': '{"reason":"from the file"}' };
    expect((await runCli([...args, '--input', '/body.json'], { ...api, files })).json()).toEqual(price);
    await runCli([...args, '--input', '-', '--reason', 'from the flag'], {
      ...api,
      stdin: '{"reason":"no"}',
    });
    expect(api.requests.map(({ body }) => body.reason)).toEqual(['from the file', 'from the flag']);
    for (const [text, message] of [
      ['[]', 'not a JSON object'],
      ['{', 'not JSON'],
    ] as const) {
      const run = await runCli([...args, '--input', '-'], { ...api, stdin: text });
      expect(run.code).toBe(3);
      expect(run.stderr).toContain(message);
    }
  });

  it('takes a secret only from standard input', async () => {
    const api = fakeApi({ 'PATCH /v2/admin/deployments/dep_1': {} });
    const args = ['admin', 'deployment', 'update', 'dep_1', '--reason', 'rotated', '--api-key-stdin'];
    await runCli(args, { ...api, stdin: 'engine-secret\n' });
    expect(api.requests[0]?.body).toEqual({ reason: 'rotated', apiKey: 'engine-secret' });
    expect((await runCli([...args, '--input', '-'], { ...api, stdin: '{}' })).code).toBe(3);
    expect((await runCli(args, { ...api, stdin: '' })).stderr).toContain('contains no secret');
    expect(api.requests).toHaveLength(1);
  });

  it('names a missing field before it sends a request', async () => {
    const api = fakeApi({});
    const run = await runCli(['admin', 'price', 'end', 'prc_1'], api);
    expect([run.code, api.requests.length]).toEqual([3, 0]);
    expect(run.stderr).toContain('--reason is missing: a reason, for the audit log.');
  });

  it('reads the pages of a list up to the limit', async () => {
    const item = (n: number): object => ({
      ...{ id: `dep_${String(n)}`, model: 'm', engine: 'vllm', address: 'http://x', upstreamModel: null },
    });
    const api = fakeApi({
      'GET /v2/admin/deployments': ({ query }: { query: Record<string, string> }) =>
        query['cursor'] === undefined
          ? { items: [item(1), item(2)], nextCursor: 'next' }
          : { items: [item(3)], nextCursor: null },
    });
    const all = await runCli(['admin', 'deployment', 'list', '--columns', 'id'], api);
    expect(all.stdout).toBe('ID\ndep_1\ndep_2\ndep_3\n');
    const some = await runCli(['admin', 'deployment', 'list', '--limit', '2', '--columns', 'id'], api);
    expect(some.stdout).toBe('ID\ndep_1\ndep_2\n');
    expect(some.stderr).toContain('--limit 4');
  });

  it('asks before it deletes', async () => {
    const api = fakeApi({ 'DELETE /v2/admin/deployments/dep_1': undefined });
    expect((await runCli(['admin', 'deployment', 'delete', 'dep_1'], api)).code).toBe(3);
    expect(api.requests).toEqual([]);
    const run = await runCli(['admin', 'deployment', 'delete', 'dep_1', '--yes'], api);
    expect([run.code, run.stdout]).toEqual([0, 'Done.\n']);
  });

  it('prints an error like every command', async () => {
    const api = fakeApi({
      'GET /v2/admin/nodes/nod_9': () => errorResponse(404, 'NODE_NOT_FOUND', 'There is no such node.'),
    });
    const run = await runCli(['admin', 'node', 'get', 'nod_9'], api);
    expect(run.code).toBe(5);
    expect(run.stderr).toBe(
      'Error: millrace admin node get failed (NODE_NOT_FOUND).\n  Why: There is no such node.\n  Try: millrace admin node list\n  Request: req_fixture\n',
    );
  });
});

describe('millrace api', () => {
  it('calls any operation by its id and prints the response unchanged', async () => {
    const api = fakeApi({
      'GET /v2/api-keys': { items: [], nextCursor: 'more' },
      'POST /v2/api-keys': ({ body }: { body: object }) => ({ echoed: body }),
    });
    expect((await runCli(['api', 'listApiKeys', '-f', 'limit=2'], api)).json()).toEqual({
      items: [],
      nextCursor: 'more',
    });
    expect(api.requests[0]?.query).toEqual({ limit: '2' });
    const run = await runCli(
      ['api', 'createApiKey', '--input', '-', '-f', 'name=a,b', '-f', 'scopes=["x"]'],
      {
        ...api,
        stdin: '{"mode":"test","name":"z"}',
      },
    );
    expect(run.json()).toEqual({ echoed: { mode: 'test', name: 'a,b', scopes: ['x'] } });
  });

  it('lists the operations and suggests the closest name', async () => {
    expect((await runCli(['api'])).stdout).toMatch(/^getRental +GET +\/v2\//m);
    const run = await runCli(['api', 'getRentl']);
    expect(run.code).toBe(3);
    expect(run.stderr).toContain('Did you mean: millrace api getRental');
  });
});

describe('completions', () => {
  const complete = async (...words: readonly string[]): Promise<readonly string[]> =>
    (await runCli(['__complete', 'words', '--', ...words])).stdout.split('\n').filter((word) => word !== '');

  it('know nouns, verbs, flags and choices', async () => {
    expect(await complete('ren')).toEqual(['rental']);
    expect(await complete('key', '')).toEqual(['create', 'get', 'list', 'revoke', 'rotate']);
    expect(await complete('admin', 'no')).toEqual(['node']);
    expect(await complete('key', 'create', '--exp')).toEqual(['--expires']);
    expect(await complete('key', 'create', '--mode', '')).toEqual(['live', 'test']);
    expect(await complete('completion', '')).toEqual(['bash', 'zsh', 'fish']);
    expect(await complete('-o', 'j')).toEqual(['json']);
    expect(await complete('help', 'key', 're')).toEqual(['revoke']);
    expect(await complete('help', 'ex')).toEqual(['exit-codes']);
    expect(await complete('help', 'he')).toEqual([]);
    expect(await complete('nonsense', '')).toEqual([]);
  });

  it('have descriptions for shells that can show them', async () => {
    const run = await runCli(['__complete', 'tab', '--', 'key', 'rev']);
    expect(run.stdout).toBe('revoke\tRevoke an API key: it stops working within a second\n');
    const nouns = await runCli(['__complete', 'tab', '--', 'admin', 'nod']);
    expect(nouns.stdout).toBe('node\tNodes of the fleet\n');
    expect((await runCli(['__complete', 'colon', '--', 'key', 'rev'])).stdout).toMatch(/^revoke:/);
  });
});
