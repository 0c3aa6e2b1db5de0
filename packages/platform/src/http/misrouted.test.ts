import { contract, operationsOf, processOf } from '@millrace/contract';
import { describe, expect, test } from 'vitest';
import { createMisroutedFinder } from './misrouted.ts';

const operations = operationsOf(contract);
const PUBLIC_URL = 'https://cloud.example.com';
const atApi = createMisroutedFinder({ operations, process: 'api', otherUrl: PUBLIC_URL });
const atGateway = createMisroutedFinder({ operations, process: 'gateway', otherUrl: PUBLIC_URL });

describe('createMisroutedFinder', () => {
  test('finds each operation of the other process, with its error body, and none of its own', () => {
    for (const operation of operations) {
      for (const template of [operation.path, ...(operation.aliases ?? [])]) {
        const path = template.replaceAll(/\{\w+\}/g, 'meta%2Fllama');
        const [here, there] = processOf(operation) === 'api' ? [atApi, atGateway] : [atGateway, atApi];
        expect(here(path, 'x'), path).toBeNull();
        expect(there(path, 'x')?.target?.errorFamily, path).toBe(operation.errorFamily);
      }
    }
  });

  test('treats pages as paths of apis, and unknown v1 paths as unknown', () => {
    for (const path of ['/', '/console/', '/auth/get-session', '/docs/errors']) {
      expect(atGateway(path, 'x')?.fault.reason, path).toBe('MISROUTED_REQUEST');
      expect(atApi(path, 'x'), path).toBeNull();
    }
    for (const find of [atApi, atGateway]) expect(find('/v1/embeddings', 'x')).toBeNull();
  });

  test('names the address for clients of another one, and the proxy to those who already use it', () => {
    const suggestionAt = (find: typeof atApi, host: string | undefined) =>
      find('/v1/chat/completions', host)?.fault.suggestion;
    expect(suggestionAt(atApi, '10.0.0.7:8080')).toBe(`Send the request to ${PUBLIC_URL}.`);
    expect(suggestionAt(atApi, undefined)).toBe(`Send the request to ${PUBLIC_URL}.`);
    expect(suggestionAt(atApi, 'cloud.example.com')).toContain('must route this path to gateways');
    const withoutUrl = createMisroutedFinder({ operations, process: 'gateway', otherUrl: null });
    expect(withoutUrl('/v2/me', 'cloud.example.com')?.fault.suggestion).toContain('to apis');
  });

  test('has the suggestion in the message of inference errors, which have no other field for it', () => {
    expect(atApi('/v1/models', 'x')?.fault.message).toContain(PUBLIC_URL);
    expect(atGateway('/v2/me', 'x')?.fault.message).not.toContain(PUBLIC_URL);
  });
});
