import { contract, type Contract, type PlatformRole, type Role } from '@millrace/contract';
import { systemClock, type Clock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { HttpServer } from '@millrace/platform/http';
import { createLogger, type Logger } from '@millrace/platform/log';
import { createSealer, type Sealer } from '@millrace/platform/secrets';
import {
  callServer,
  createRouteServer,
  createTestDatabase,
  uniqueId,
  type CallRequest,
  type CallResponse,
  type TestDatabase,
} from '@millrace/testing';
import { createKeyBudget } from './billing/index.ts';
import {
  addMember,
  createApiKeyService,
  createKeyAuthenticator,
  createMemberService,
  createOrganisation,
  ensureUser,
  grantPlatformRole,
  issueUnrestrictedKey,
  markSupplier,
  serveIdentity,
  systemAuditContext,
  type KeyMode,
  type Organisation,
  type PublishKeyChange,
} from './identity/index.ts';
import { readLiveBalances } from './ledger/index.ts';

export interface RouteDeps {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Logger;
  readonly sealer: Sealer;
  readonly announce: PublishKeyChange;
}

/** Routes of one feature in the test process, with real keys and a separate database. */
export interface RoutesFixture {
  readonly server: HttpServer;
  readonly database: TestDatabase;
  readonly db: Db;
  logs(): string;
  call(request: CallRequest): Promise<CallResponse>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Serves the routes that `serve` binds, plus identity, which creates keys and shows the audit log. */
export async function startRoutes(serve: (deps: RouteDeps) => void = () => {}): Promise<RoutesFixture> {
  const database = await createTestDatabase();
  const { db } = database;
  const clock = systemClock;
  let logged = '';
  const destination = { write: (line: string) => void (logged += line) };
  const log = createLogger({ name: 'routes', level: 'debug', destination });
  const { authenticate, invalidate } = createKeyAuthenticator({ db, clock, organisationRpm: 1_000_000 });
  const server = createRouteServer({ db, log, authenticate, trustedProxies: ['127.0.0.1'] });
  const announce: PublishKeyChange = (change) => invalidate(change);
  const keys = createApiKeyService({ announce, onKeyCreated: createKeyBudget });
  const members = createMemberService({ announce, keys });
  const { operations } = contract;
  const work = { end: async () => 0, callOff: async () => {} };
  serveIdentity({
    ...{ server, operations, db, keys, members, announce, work },
    ...{ homeCell: 1, liveBalances: readLiveBalances },
  });
  const sealer = createSealer({ keys: [{ id: 'test', key: new Uint8Array(32).fill(7) }], activeId: 'test' });
  serve({ server, operations, db, clock, log, sealer, announce });
  return {
    server,
    database,
    db,
    logs: () => logged,
    call: (request) => callServer(server, request),
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await database.drop();
    },
  };
}

export interface SeededKey {
  readonly userId: string;
  readonly keyId: string;
  readonly key: string;
}

export interface SeededOrganisation {
  readonly organisation: Organisation;
  readonly owner: SeededKey;
  /** Adds a member with this role and an unrestricted key. */
  addPerson(role: Role, mode?: KeyMode): Promise<SeededKey>;
  ownerKey(mode: KeyMode): Promise<SeededKey>;
}

/** Creates an organisation with an owner and a live key, as the admin command does. */
export async function seedOrganisation(
  db: Db,
  options: {
    readonly platformRole?: PlatformRole;
    /** Marks the organisation as a supplier, so that its keys get the supplier scopes. */
    readonly supplies?: boolean;
  } = {},
): Promise<SeededOrganisation> {
  const cause = systemAuditContext('test', 'live');
  const id = uniqueId();
  const owner = { email: `owner-${id}@example.com`, name: 'Owner' };
  const readCommitted = 'read committed' as const;

  const issue = (organisation: Organisation, email: string, mode: KeyMode): Promise<SeededKey> =>
    db.transaction({ name: 'seed key', isolation: readCommitted }, async (tx) => {
      const user = await ensureUser(tx, { email });
      const { key, text } = await issueUnrestrictedKey(tx, cause, {
        orgId: organisation.id,
        user,
        mode,
        name: 'seeded',
      });
      return { userId: user.id, keyId: key.id, key: text };
    });

  const organisation = await db.transaction({ name: 'seed', isolation: readCommitted }, async (tx) => {
    const made = await createOrganisation(tx, cause, { name: `Test ${id}`, homeCell: 1, owner });
    if (options.platformRole !== undefined) await grantPlatformRole(tx, made.owner.id, options.platformRole);
    if (options.supplies === true) await markSupplier(tx, made.organisation.id);
    return made.organisation;
  });
  return {
    organisation,
    owner: await issue(organisation, owner.email, 'live'),
    ownerKey: (mode) => issue(organisation, owner.email, mode),
    addPerson: async (role, mode = 'live') => {
      const email = `${role}-${uniqueId()}@example.com`;
      await db.transaction({ name: 'seed member', isolation: readCommitted }, (tx) =>
        addMember(tx, cause, organisation.id, { email, role }),
      );
      return issue(organisation, email, mode);
    },
  };
}
