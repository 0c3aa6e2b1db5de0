import { testIds } from '@millrace/testing';
import { describe, expect, it } from 'vitest';
import { keyFeedKeys, contractPartEntry, modelEntry, type ModelEntry } from '../key-feed.ts';
import { modelPayloads } from './split-contract-prices.ts';

const price = {
  version: 1,
  model: 'maker/chat',
  promptNanoUsdPerMillion: '1',
  cachedPromptNanoUsdPerMillion: '1',
  completionNanoUsdPerMillion: null,
  imageNanoUsd: '1',
  characterNanoUsd: '1',
  priceIds: [],
} as const;
const timeline = [{ fromMs: null, untilMs: null, price }];

function modelOf(orgIds: readonly string[]): ModelEntry {
  return {
    ...{ version: 1, name: 'maker/chat', aliases: [], modality: 'chat', inputModalities: ['text'] },
    ...{ contextLength: null, maxOutputTokens: null, ownedBy: 'maker', createdAtMs: 0, mode: 'live' },
    ...{ visibleTo: null, fallbacks: [], requestsPerMinute: null, prices: timeline },
    contractPrices: Object.fromEntries(orgIds.map((orgId) => [orgId, timeline])),
    deployments: [],
  };
}

const orgIds = Array.from({ length: 10_000 }, () => testIds.next('org'));

function placesOf(pieces: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map(
    [...pieces].flatMap(([key, text]) =>
      Object.keys(contractPartEntry.parse(JSON.parse(text)).contractPrices).map(
        (orgId) => [orgId, key] as const,
      ),
    ),
  );
}

describe('modelPayloads', () => {
  it('keeps contract prices in a small entry, as gateways of earlier releases read it', () => {
    const model = modelOf(orgIds.slice(0, 1_000));
    expect(modelPayloads(model)).toEqual({ text: JSON.stringify(model), pieces: new Map() });
  });

  it('puts each contract in exactly one part, in entries far below 1 MiB', () => {
    const { text, pieces } = modelPayloads(modelOf(orgIds));
    const entry = modelEntry.parse(JSON.parse(text ?? ''));
    expect([entry.contractPrices, entry.contractParts]).toEqual([{}, pieces.size]);
    const expected = Array.from({ length: pieces.size }, (_, part) =>
      keyFeedKeys.contractPart('maker/chat', pieces.size, part),
    );
    expect([...pieces.keys()]).toEqual(expected);
    const held = [...pieces.values()].flatMap((part) =>
      Object.keys(contractPartEntry.parse(JSON.parse(part)).contractPrices),
    );
    expect(held.toSorted()).toEqual(orgIds.toSorted());
    for (const part of [text ?? '', ...pieces.values()])
      expect(Buffer.byteLength(part)).toBeLessThan(600_000);
  });

  it('keeps an organisation in its part when contracts of others are removed', () => {
    const before = modelPayloads(modelOf(orgIds)).pieces;
    const after = modelPayloads(modelOf(orgIds.slice(100))).pieces;
    expect(after.size).toBe(before.size);
    const places = placesOf(before);
    for (const [orgId, key] of placesOf(after)) expect(places.get(orgId)).toBe(key);
  });
});
