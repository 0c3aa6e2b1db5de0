import { atMost, defineBench, type BenchRun, type Measure } from '@millrace/runners';
import { uniqueId } from '@millrace/testing';
import { createCaller } from './api/http-caller.ts';
import { LISTED_KEYS, seedKeys } from './api/keys.ts';
import { startUpstreamDouble } from './gateway/gateways.ts';
import { startMillrace, type StartedMillrace } from './gateway/millrace.ts';
import { createRawClient } from './gateway/raw-client.ts';

const CONCURRENCY = 16;
const HEADERS_AND_BODY = 300;

/** Requests to one installation. Throws if a response is not complete. */
async function clientsOf(millrace: StartedMillrace) {
  const [api] = millrace.stack.apis;
  const apiPid = api?.pid() ?? null;
  if (apiPid === null) throw new Error('The api has no process.');
  const { reader, creators } = await seedKeys(millrace.stack.database);
  const caller = createCaller(millrace.stack.apiUrl, CONCURRENCY);
  const chats = createRawClient({
    url: millrace.url,
    path: '/v1/chat/completions',
    headers: millrace.headers,
    body: {
      model: millrace.model,
      messages: [{ role: 'user', content: 'What does the mill by the river do all day? pace=0 chunks=0' }],
      max_tokens: 1_024,
    },
  });
  let created = 0;
  const variant = (pid: number, call: () => Promise<void>) => ({ call, servers: [pid] });
  return {
    apiPid,
    chat: variant(millrace.pid, async () => {
      const { status, bytes, error } = await chats.send();
      if (status !== 200 || bytes < HEADERS_AND_BODY) throw new Error(`A chat returned ${status}: ${error}`);
    }),
    read: variant(apiPid, () => caller.call(`/v2/api-keys?limit=${LISTED_KEYS}`, 200, { key: reader })),
    write: variant(apiPid, () =>
      caller.call('/v2/api-keys', 201, {
        method: 'POST',
        key: creators[(created += 1) % creators.length] ?? '',
        body: { name: 'bench', scopes: ['events:read'] },
        headers: { 'idempotency-key': uniqueId() },
      }),
    ),
    close: () => {
      chats.close();
      caller.close();
    },
  };
}

function times(secure: Measure, plain: Measure): number {
  return Math.round((secure.serverCpuUs / Math.max(1, plain.serverCpuUs)) * 100) / 100;
}

export const bench = defineBench({
  name: 'tls',
  about:
    'Chats through a gateway and requests to an api whose engines require TLS and credentials, compared with the same whose engines do not. Server time is that of the gateway or the api.',
  counts: null,
  async run(run: BenchRun) {
    await using upstream = await startUpstreamDouble();
    await using plaintext = await startMillrace(upstream, 'plaintext');
    await using secure = await startMillrace(upstream, 'secure');
    const [without, withTls] = [await clientsOf(plaintext), await clientsOf(secure)];
    for (const pid of [plaintext.pid, secure.pid, without.apiPid, withTls.apiPid]) run.pinServer(pid);
    try {
      const chats = await run.measure(
        { 'chat, plaintext': without.chat, 'chat, TLS': withTls.chat },
        { concurrency: CONCURRENCY },
      );
      const calls = await run.measure(
        {
          'GET /v2/api-keys, plaintext': without.read,
          'GET /v2/api-keys, TLS': withTls.read,
          'POST /v2/api-keys, plaintext': without.write,
          'POST /v2/api-keys, TLS': withTls.write,
        },
        { concurrency: CONCURRENCY },
      );
      return {
        figures: { ...chats, ...calls },
        // Each call to an engine encrypts and decrypts some hundred bytes.
        bars: [
          atMost(
            'chat: processor time, times plaintext',
            1.5,
            times(chats['chat, TLS'], chats['chat, plaintext']),
          ),
          atMost(
            'GET /v2/api-keys: processor time, times plaintext',
            1.5,
            times(calls['GET /v2/api-keys, TLS'], calls['GET /v2/api-keys, plaintext']),
          ),
          atMost(
            'POST /v2/api-keys: processor time, times plaintext',
            1.5,
            times(calls['POST /v2/api-keys, TLS'], calls['POST /v2/api-keys, plaintext']),
          ),
        ],
      };
    } finally {
      without.close();
      withTls.close();
    }
  },
});
