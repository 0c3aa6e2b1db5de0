import { seedOrganisation } from '@millrace/core/fixture';
import type { TestDatabase } from '@millrace/testing';

/** An organisation may have 500 keys, so creation alternates between enough organisations for the fastest machine. */
const CREATING_ORGANISATIONS = 64;
export const LISTED_KEYS = 20;

/** Keys of an organisation that lists them, and of organisations that create more. */
export async function seedKeys(
  database: TestDatabase,
): Promise<{ readonly reader: string; readonly creators: readonly string[] }> {
  const reading = await seedOrganisation(database.db);
  for (let made = 1; made < LISTED_KEYS; made += 1) await reading.ownerKey('live');
  const creators: string[] = [];
  for (let made = 0; made < CREATING_ORGANISATIONS; made += 1) {
    creators.push((await seedOrganisation(database.db)).owner.key);
  }
  return { reader: reading.owner.key, creators };
}
