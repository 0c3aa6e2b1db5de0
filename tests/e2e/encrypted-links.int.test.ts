import { newReadinessKey } from '@millrace/compute/readiness';
import { captureLinks, eventually, uniqueId } from '@millrace/testing';
import { expect, test } from 'vitest';
import { openInferenceStack, type InferenceStack } from '../stack/inference-stack.ts';
import { deployChatModel, seedInferenceTenant, seedOperator } from '../stack/inference-tenant.ts';
import { MOCK_REGION, mockProviders } from '../stack/mock-stack.ts';

/**
 * Reads the connections between the processes, their engines and their clients, as an attacker on the network would: once
 * with TLS and credentials everywhere, and once without, which shows that the capture would notice. The mock of machines has no
 * connection. Those to Incus, Ironic, storage agents and email servers have tests of their own, beside their clients.
 */

const MODEL = 'millrace-tiny';
const PROMPT = `Which words of this question can be read on the network? ${uniqueId()}`;
const USER_DATA = `#cloud-config\n# words of the tenant that only the machine should read: ${uniqueId()}`;
const VIRTUAL_MACHINES = '/v2/on-demand/virtual-machine-rentals';

/** Texts that a reader of the connections must not see, and the link that carries each without TLS. */
type Secrets = Readonly<Record<string, { readonly text: string; readonly link: RegExp }>>;

interface Captured {
  readonly secrets: Secrets;
  /** The bytes of each port of this machine, also of ports that no setting names. */
  readonly ports: ReadonlyMap<number, Buffer>;
  /** The bytes of each link, by the setting or process that names its port. */
  readonly links: ReadonlyMap<string, Buffer>;
}

async function captureScenario(engines: 'secure' | 'plaintext'): Promise<Captured> {
  const capture = await captureLinks();
  const stack = await openInferenceStack({
    engines,
    ...(engines === 'secure' ? { proxy: 'haproxy' } : {}),
    env: { MILLRACE_PROVIDERS: JSON.stringify(mockProviders()), MILLRACE_FLEET_READ_MS: '1000' },
  });
  try {
    const secrets = await useEverything(stack);
    const ports = portsOf(stack);
    await stack.close();
    const captured = await capture.stop();
    return {
      secrets,
      ports: new Map(captured.ports.map((port) => [port, captured.bytesOf(port)])),
      links: new Map([...ports].map(([link, port]) => [link, captured.bytesOf(port)])),
    };
  } catch (error) {
    await stack.close();
    throw new Error(`${String(error)}\n${stack.output().slice(-4_000)}`, { cause: error });
  }
}

/** A chat with a real engine, and a rental with user data until it has ended. */
async function useEverything(stack: InferenceStack): Promise<Secrets> {
  const operator = await seedOperator(stack);
  await deployChatModel(stack, operator, MODEL);
  const tenant = await seedInferenceTenant(stack, 1_000_000_000n);
  await stack.startGateways();
  await eventually({ what: 'the model to be on offer', timeoutMs: 120_000 }, async () => {
    return (await tenant.openai.models.list()).data.length === 1;
  });
  const { key, ...renting } = await tenant.newKey({
    mode: 'test',
    scopes: ['rentals:read', 'rentals:write', 'catalog:read', 'ssh-keys:write'],
  });
  const call = async (method: string, path: string, body?: object) => {
    const response = await fetch(stack.apiUrl + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${text}`);
    // oxlint-disable-next-line typescript/no-explicit-any -- tests read any field of a response
    return JSON.parse(text) as any;
  };
  const chat = await tenant.openai.chat.completions.create({
    model: MODEL,
    messages: [{ role: 'user', content: PROMPT }],
    max_tokens: 20,
  });
  await tenant.costOf(chat.id);
  await eventually({ what: 'free mock machines', timeoutMs: 120_000 }, async () => {
    const { items } = await call('GET', '/v2/on-demand/rental-options');
    return items.some((item: { totalAvailable: number }) => item.totalAvailable > 0);
  });
  await call('POST', '/v2/ssh-public-keys', { name: 'laptop', publicKey: newReadinessKey().publicKey });
  const { id } = await call('POST', VIRTUAL_MACHINES, {
    region: MOCK_REGION,
    gpuCount: 1,
    userData: USER_DATA,
  });
  const until = (status: string) =>
    eventually({ what: status, timeoutMs: 120_000 }, async () => {
      return (await call('GET', `/v2/on-demand/rentals/${id}`)).status === status;
    });
  await until('Running');
  await call('POST', `${VIRTUAL_MACHINES}/terminate`, { rentalId: id, reason: 'done' });
  await until('Terminated');
  const [llama] = stack.llamas;
  return {
    'API key of an inference client': { text: tenant.key, link: /^gateway/ },
    'API key of a renting client': { text: key, link: /^api/ },
    'id of an API key': { text: renting.id, link: /^MILLRACE_NATS_URLS$/ },
    'API key of an engine': { text: llama?.apiKey ?? '', link: /^llama/ },
    prompt: { text: PROMPT, link: /^llama/ },
    completion: { text: chat.choices[0]?.message.content ?? '', link: /^gateway/ },
    'user data': { text: USER_DATA.slice(-30), link: /^MILLRACE_POSTGRES_URL$/ },
    SQL: { text: 'insert into "rentals"', link: /^MILLRACE_POSTGRES_URL$/ },
    organisation: { text: tenant.orgId, link: /^MILLRACE_POT_VALKEY_URL$/ },
    'command of Valkey': { text: 'evalsha', link: /^MILLRACE_VALKEY_URL$/i },
    'call of Restate': { text: `${stack.natsPrefix}`, link: /^MILLRACE_RESTATE_INGRESS_URL$/ },
    'administration of Restate': { text: '/deployments', link: /^MILLRACE_RESTATE_ADMIN_URL$/ },
    'handlers of a worker': { text: stack.natsPrefix, link: /^MILLRACE_RESTATE_ENDPOINT_PORT$/ },
  };
}

/** Every port in the settings of the processes, and those of the engines that serve models. */
function portsOf(stack: InferenceStack): ReadonlyMap<string, number> {
  const ports = new Map<string, number>();
  for (const { name, env } of [...stack.apis, ...stack.workers, ...stack.gateways]) {
    for (const [setting, value] of Object.entries(env())) {
      const isAddress = /^\w+:\/\//.test(value);
      if (setting === 'MILLRACE_HTTP_PORT') ports.set(name, Number(value));
      else if (setting === 'MILLRACE_RESTATE_ENDPOINT_PORT') ports.set(setting, Number(value));
      else if (isAddress) ports.set(setting, Number(new URL(value).port));
    }
  }
  for (const { name, port } of stack.llamas) ports.set(name, port);
  return ports;
}

/** Secrets that no other test of this machine has, which may run at the same time. */
const onlyHere = [
  'API key of an inference client',
  'API key of a renting client',
  'API key of an engine',
  'prompt',
  'user data',
];

const has = (bytes: Buffer, text: string): boolean =>
  bytes.includes(text) || bytes.toString('latin1').toLowerCase().includes(text.toLowerCase());

test('with TLS everywhere, no link shows an API key, a prompt, user data or SQL; without TLS, the same capture shows all of them', async () => {
  const plain = await captureScenario('plaintext');
  for (const [what, { text, link }] of Object.entries(plain.secrets)) {
    const seen = [...plain.links].filter(([, bytes]) => has(bytes, text)).map(([name]) => name);
    expect(seen, `${what} without TLS`).toContainEqual(expect.stringMatching(link));
  }
  const secure = await captureScenario('secure');
  for (const [name, bytes] of secure.links) {
    expect(bytes.length, `the capture of ${name}`).toBeGreaterThan(0);
    for (const [what, { text }] of Object.entries(secure.secrets)) {
      expect(has(bytes, text), `${what} on ${name}`).toBe(false);
    }
  }
  for (const [port, bytes] of secure.ports) {
    for (const what of onlyHere) {
      expect(has(bytes, secure.secrets[what]?.text ?? ''), `${what} on port ${port}`).toBe(false);
    }
  }
  // Every link without TLS has its counterpart with TLS.
  expect([...secure.links.keys()]).toEqual(expect.arrayContaining([...namesWithoutNumbers(plain.links)]));
});

/** Behind the proxy there are two apis and two gateways. */
function namesWithoutNumbers(links: ReadonlyMap<string, unknown>): readonly string[] {
  return [...links.keys()].map((name) => (/^(api|gateway)$/.test(name) ? `${name}-1` : name));
}
