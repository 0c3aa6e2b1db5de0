import { toUuid } from '@millrace/platform/ids';
import { createTestDatabase, type TestDatabase } from '@millrace/testing';
import { describeDriver } from '../conformance/index.ts';
import { createPostgresStore, type MachineStore } from './index.ts';
import { mockHarness } from './mock-harness.fixture.ts';

let database: TestDatabase | undefined;

/** The suite invents organisations, but rows require existing ones. */
function withOrganisations({ db }: TestDatabase, memory: MachineStore): MachineStore {
  return {
    ...memory,
    async write(machine, ...change) {
      const id = toUuid(machine.orgId);
      const row = { id, name: 'Suite', slug: `suite-${id}`, home_cell: 1 };
      await db.kysely
        .insertInto('organisations')
        .values(row)
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute();
      return memory.write(machine, ...change);
    },
  };
}

const harness = mockHarness(
  async (clock) => {
    database = await createTestDatabase();
    const memory = createPostgresStore(database.db, { cluster: 'suite', clock });
    return withOrganisations(database, memory);
  },
  async () => database?.drop(),
);

// The limits only end tests that hang; they are no statement about speed.
describeDriver('mock (in PostgreSQL)', harness, {
  testTimeoutMs: 600_000,
  crashTimeoutMs: 600_000,
  hookTimeoutMs: 600_000,
});
