import { createSealer, type SealContext, type Sealer, type SealingKey } from '@millrace/platform/secrets';
import type { DeploymentEntry } from '../key-feed.ts';

/** Seals and opens the keys of engines in the key feed. The first key seals; equal entries are equal texts. */
export function createKeyFeedSealer(keys: readonly SealingKey[]): Sealer {
  return createSealer({ keys, activeId: keys[0]?.id ?? '', isRepeatable: true });
}

/** Contains the address, so that a key cannot be moved to an entry that sends it to another server. */
export function keyFeedSealContext({ id, address }: Pick<DeploymentEntry, 'id' | 'address'>): SealContext {
  return { table: 'key feed', column: 'engine key', rowId: `${id} ${address}` };
}

/** Entries of earlier releases contain the key unsealed. Throws `SealedSecretError` if the key cannot be opened. */
export function openEngineKey(sealer: Sealer, deployment: DeploymentEntry): DeploymentEntry {
  const { sealedApiKey, ...entry } = deployment;
  if (sealedApiKey === undefined) return entry;
  return { ...entry, apiKey: sealer.open(sealedApiKey, keyFeedSealContext(deployment)) };
}
