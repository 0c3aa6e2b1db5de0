import { describe, expect, it } from 'vitest';
import { contract, createContract, operationsOf } from '../contract.ts';
import { defaultProviders } from '../records/provider-data.ts';
import { marketplaceFilterFields, marketplaceMachine } from '../records/marketplace.ts';
import { z } from 'zod';

const { operations } = contract;
const chat = operations.createChatCompletion.body;
const messages = [{ role: 'user', content: 'Hello' }] as const;

/** The dotted names of the leaf fields of a record, with the items of lists and without constants. */
function leavesOf(schema: unknown, name: string): readonly string[] {
  const { type, properties, items, $ref } = schema as {
    type?: string;
    properties?: Record<string, object>;
    items?: object;
    $ref?: string;
  };
  if ($ref !== undefined) return leavesOf(definitionOf($ref), name);
  if (type === 'array') return leavesOf(items, name);
  if (type !== 'object') return 'const' in (schema as object) ? [] : [name];
  return Object.entries(properties ?? {}).flatMap(([key, value]) =>
    leavesOf(value, name === '' ? key : `${name}.${key}`),
  );
}

function definitionOf(reference: string): unknown {
  const { $defs = {} } = z.toJSONSchema(marketplaceMachine, { io: 'output' });
  return $defs[reference.slice('#/$defs/'.length)];
}

const accepts = (schema: z.ZodType, value: unknown): boolean => schema.safeParse(value).success;

describe('all operations', () => {
  it('have the id of their key, and no two serve the same path', () => {
    const served = new Set<string>();
    for (const [id, operation] of Object.entries(operations)) {
      expect(operation.id).toBe(id);
    }
    for (const { method, path, aliases = [] } of operationsOf(contract)) {
      for (const each of [path, ...aliases]) {
        expect(served.has(`${method} ${each}`), `${method} ${each}`).toBe(false);
        served.add(`${method} ${each}`);
      }
    }
  });

  it('honour an Idempotency-Key if docs/interface.md specifies them and they change a resource', () => {
    const changing = operationsOf(contract).filter(
      (o) => o.source === 'interface' && o.idempotency === 'key',
    );
    expect(changing.map(({ id }) => id).toSorted()).toEqual([
      'attachStorageVolume',
      'createBareMetalRental',
      'createMarketplaceInstance',
      'createStorageVolume',
      'createVirtualMachineRental',
      'requestReservation',
      'terminateMarketplaceInstance',
    ]);
  });
});

describe('rental request bodies', () => {
  const machine = operations.createVirtualMachineRental.body;
  const metal = operations.createBareMetalRental.body;

  it('count GPUs in whole numbers, and in multiples of eight for bare metal', () => {
    for (const [gpuCount, ok] of [
      [1, true],
      [3, true],
      [0, false],
      [-1, false],
      [1.5, false],
      ['1', false],
    ]) {
      expect(accepts(machine, { gpuCount }), `vm ${String(gpuCount)}`).toBe(ok);
    }
    for (const [gpuCount, ok] of [
      [8, true],
      [16, true],
      [0, false],
      [4, false],
      [12, false],
      [-8, false],
    ]) {
      expect(accepts(metal, { gpuCount, networkType: 'ethernet' }), `metal ${String(gpuCount)}`).toBe(ok);
    }
  });

  it('accept the optional added fields and drop unknown keys', () => {
    const added = {
      gpuCount: 1,
      name: 'trainer',
      sshKeyIds: ['ssh_01JD8Q7XK4T2M9V6B3N5C1F0GH'],
      userData: '#cloud-config',
      image: 'ubuntu-24.04',
      ttlSeconds: 3600,
      maxUsd: 12.5,
      idle: { afterSeconds: 900 },
      tags: { team: 'research' },
    };
    const parsed = machine.parse({ ...added, surprise: true });
    expect(parsed).toMatchObject({ ...added, idle: { afterSeconds: 900, action: 'stop' } });
    expect(parsed).not.toHaveProperty('surprise');
  });

  it('name an existing volume or describe a new one of any size within the limits', () => {
    const withVolume = (storageVolume: unknown) => ({
      gpuCount: 8,
      networkType: 'infiniband',
      storageVolume,
    });
    expect(accepts(metal, withVolume({ isNew: false, id: 7 }))).toBe(true);
    expect(accepts(metal, withVolume({ isNew: true, label: 'data', sizeInGb: 257 }))).toBe(true);
    expect(accepts(metal, withVolume({ isNew: true, id: 7 }))).toBe(false);
    expect(accepts(metal, withVolume({ id: 7 }))).toBe(false);
    expect(
      accepts(operations.createStorageVolume.body, { region: 'us-central-1', label: 'data', sizeInGb: 257 }),
    ).toBe(false);
  });
});

describe('marketplace request bodies', () => {
  it('filter by short keys, field names and operators, and keep unknown keys for reporting', () => {
    const body = {
      filters: {
        gpu_model: 'H100',
        min_gpus_available: 2,
        max_price: 2.5,
        has_persistent_storage: true,
        available: true,
        'hardware.gpus.ram': { gte: 80_000 },
        region: { in: ['us-east', 'us-west'] },
        unheard_of: 1,
      },
      sort: [{ field: 'pricing.price.amount', dir: 'asc' }],
      limit: 100,
      cursor: null,
    };
    expect(operations.listMarketplaceMachines.body.parse(body)).toEqual(body);
    expect(operations.listMarketplaceMachines.body.parse({})).toEqual({ filters: {} });
    expect(accepts(operations.listMarketplaceMachines.body, { filters: { max_price: 'cheap' } })).toBe(false);
    expect(accepts(operations.listMarketplaceMachines.body, { filters: { max_price: { near: 1 } } })).toBe(
      false,
    );
  });

  it('filter by every field of the record that is not constant', () => {
    const fields = leavesOf(z.toJSONSchema(marketplaceMachine, { io: 'output' }), '');
    expect(Object.keys(marketplaceFilterFields)).toEqual(expect.arrayContaining([...fields]));
    expect(accepts(operations.listMarketplaceMachines.body, { limit: null, cursor: null })).toBe(true);
  });

  it('accept one port or several', () => {
    const create = { cluster_name: 'c1', node_name: 'n1', gpu_count: 1 };
    const { body } = operations.createMarketplaceInstance;
    expect(accepts(body, { ...create, image: { name: 'vllm', tag: 'latest', port: 8000 } })).toBe(true);
    expect(accepts(body, { ...create, image: { name: 'vllm', ports: [8000, 9000] } })).toBe(true);
    expect(accepts(body, { ...create, image: { name: 'vllm', port: 65_536 } })).toBe(false);
    expect(accepts(body, { id: 'actual-bonsai-frog' })).toBe(false);
  });
});

describe('chat request bodies', () => {
  const request = (more: object): unknown => ({ model: 'm', messages, ...more });

  it('accept the baseline roles, tool and developer', () => {
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
    const turns = [
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: 'Be exact.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'image_url', image_url: { url: 'data:' } },
        ],
      },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: '42' },
      { role: 'assistant', content: '42' },
    ];
    expect(accepts(chat, { model: 'm', messages: turns })).toBe(true);
    expect(accepts(chat, { model: 'm', messages: [{ role: 'assistant', content: null }] })).toBe(false);
    expect(accepts(chat, { model: 'm', messages: [{ role: 'robot', content: 'Hi' }] })).toBe(false);
    expect(accepts(chat, { model: 'm', messages: [{ role: 'user' }] })).toBe(false);
    expect(accepts(chat, { model: 'm', messages: [] })).toBe(false);
  });

  it('accept logprobs as a number or a boolean, and top_logprobs only with logprobs', () => {
    expect(accepts(chat, request({ logprobs: 3 }))).toBe(true);
    expect(accepts(chat, request({ logprobs: true, top_logprobs: 20 }))).toBe(true);
    expect(accepts(chat, request({ logprobs: true, top_logprobs: 21 }))).toBe(false);
    expect(accepts(chat, request({ logprobs: false, top_logprobs: 1 }))).toBe(false);
    expect(accepts(chat, request({ top_logprobs: 1 }))).toBe(false);
    expect(accepts(chat, request({ logprobs: 1.5 }))).toBe(false);
  });

  it('accept stop as one string or several, and token counts of at least one', () => {
    expect(accepts(chat, request({ stop: '.' }))).toBe(true);
    expect(accepts(chat, request({ stop: ['.', '!'] }))).toBe(true);
    expect(accepts(chat, request({ stop: [1] }))).toBe(false);
    for (const name of ['max_tokens', 'max_completion_tokens', 'n']) {
      expect(accepts(chat, request({ [name]: 1 })), name).toBe(true);
      expect(accepts(chat, request({ [name]: 0 })), name).toBe(false);
    }
  });

  it('limit penalties to 0..1, or to -2..2 if the operator widens them', () => {
    const wide = createContract({ providers: defaultProviders, widePenalties: true });
    const widened = wide.operations.createChatCompletion.body;
    for (const name of ['frequency_penalty', 'presence_penalty']) {
      for (const value of [-2, -0.1, 1.1, 2]) {
        expect(accepts(chat, request({ [name]: value })), `${name} ${value}`).toBe(false);
        expect(accepts(widened, request({ [name]: value })), `${name} ${value}`).toBe(true);
      }
      expect(accepts(widened, request({ [name]: -2.1 }))).toBe(false);
      expect(accepts(widened, request({ [name]: 2.1 }))).toBe(false);
    }
  });
});

describe('image and audio request bodies', () => {
  const image = { model_name: 'm', prompt: 'a mill', height: 512, width: 512 };

  it('limit images and fill in the decided defaults', () => {
    const { body } = operations.generateImage;
    expect(body.parse(image)).toEqual({
      ...image,
      backend: 'auto',
      cfg_scale: 5,
      steps: 30,
      enable_refiner: false,
      lora: {},
    });
    for (const [name, low, high] of [
      ['height', 128, 2496],
      ['width', 128, 2496],
      ['steps', 1, 1000],
      ['cfg_scale', 0, 50],
    ] as const) {
      for (const [value, ok] of [
        [low, true],
        [high, true],
        [low - 1, false],
        [high + 1, false],
      ] as const) {
        expect(accepts(body, { ...image, [name]: value }), `${name} ${value}`).toBe(ok);
      }
    }
    expect(accepts(body, { ...image, prompt: 'a'.repeat(20_000) })).toBe(true);
    expect(accepts(body, { ...image, prompt: 'a'.repeat(20_001) })).toBe(false);
  });

  it('require the text of speech and fill in the decided defaults', () => {
    const { body } = operations.generateAudio;
    expect(body.parse({ text: 'Hello' })).toEqual({
      text: 'Hello',
      speed: 1,
      sdp_ratio: 0.2,
      noise_scale: 0.6,
      noise_scale_w: 0.8,
    });
    expect(accepts(body, {})).toBe(false);
    expect(accepts(body, { text: '' })).toBe(false);
  });
});

describe('response bodies', () => {
  it('are closed, so that they never contain an unknown field', () => {
    const closed = { message: 'Reservation request for 64 GPUs received' };
    expect(accepts(operations.requestReservation.response.schema, closed)).toBe(true);
    expect(accepts(operations.requestReservation.response.schema, { ...closed, more: 1 })).toBe(false);
    const costs = { requests: [{ requestId: 'req_1', costNanoUsd: 1200 }] };
    expect(accepts(operations.getRequestCost.response.schema, costs)).toBe(true);
    expect(
      accepts(operations.getRequestCost.response.schema, { requests: [{ ...costs.requests[0], usd: 1 }] }),
    ).toBe(false);
    expect(
      accepts(operations.getRequestCost.response.schema, {
        requests: [{ requestId: 'r', costNanoUsd: 0.5 }],
      }),
    ).toBe(false);
  });

  it('have chat content unless they have tool calls', () => {
    const response = (message: object) => ({
      id: 'req_1',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    });
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
    const { schema } = operations.createChatCompletion.response;
    expect(accepts(schema, response({ content: 'Hi' }))).toBe(true);
    expect(accepts(schema, response({ content: null, tool_calls: [call] }))).toBe(true);
    expect(accepts(schema, response({ content: null }))).toBe(false);
  });
});
