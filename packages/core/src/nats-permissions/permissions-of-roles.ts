import { epochEndSubjects, leaseSubjects } from '@millrace/credit-leases/protocol';
import {
  combineGrants,
  natsGrants as grants,
  natsInboxPrefix,
  type NatsGrant,
  type NatsPermissions,
  type NatsRole,
} from '@millrace/platform/nats';
import { eventChannels } from '../events/index.ts';
import { keyChangeSubject } from '../identity/index.ts';
import { keyFeedBucket, keyFeedKeys, usageSubjects } from '../inference/index.ts';
import { consoleSubject } from '../rentals/index.ts';
import { restoreMarkBucket } from '../restore/index.ts';

/** The processes of one cell of one installation. */
export interface NatsPlace {
  /** MILLRACE_NATS_PREFIX. */
  readonly prefix: string;
  readonly cell: number;
}

type GrantsOf = (place: NatsPlace) => readonly NatsGrant[];

/** Publishes events and serves requests; owns all streams and buckets. */
const workerGrants: GrantsOf = ({ prefix, cell }) => {
  const events = eventChannels(prefix);
  const usage = usageSubjects(prefix, cell);
  const leases = leaseSubjects(prefix, cell);
  const keyFeed = keyFeedBucket(prefix);
  const restoreMark = restoreMarkBucket(prefix);
  return [
    grants.ensureStream(events.stream),
    grants.publish(events.streamSubject),
    grants.streamState(events.stream),
    grants.follow(events.stream),
    grants.ensureStream(usage.stream),
    grants.streamState(usage.stream),
    grants.follow(usage.stream),
    grants.purgeMessages(usage.stream),
    grants.publish(epochEndSubjects(prefix, cell)),
    grants.respond(leases.lease),
    grants.respond(leases.recall),
    grants.publish(leases.recall),
    grants.respond(consoleSubject(prefix, cell)),
    grants.publish(keyChangeSubject(prefix)),
    grants.ensureBucket(keyFeed),
    grants.readBucket(keyFeed),
    grants.readBucketFromAnyReplica(keyFeed),
    grants.writeBucket(keyFeed),
    grants.ensureBucket(restoreMark),
    grants.readBucket(restoreMark),
    grants.writeBucket(restoreMark),
  ];
};

/** Follows events and key changes, sends requests to workers, and writes the entries of keys, organisations and models. */
const apiGrants: GrantsOf = ({ prefix, cell }) => {
  const events = eventChannels(prefix);
  const keyFeed = keyFeedBucket(prefix);
  const written = [
    keyFeedKeys.key('*'),
    keyFeedKeys.organisation('*'),
    keyFeedKeys.allModels,
    keyFeedKeys.allContractParts,
  ];
  return [
    grants.subscribe(events.streamSubject),
    grants.subscribe(keyChangeSubject(prefix)),
    grants.publish(keyChangeSubject(prefix)),
    grants.publish(consoleSubject(prefix, cell)),
    grants.publish(leaseSubjects(prefix, cell).recall),
    grants.readBucket(keyFeed),
    ...written.map((keys) => grants.writeBucket(keyFeed, keys)),
  ];
};

/** Publishes usage and end markers, requests credit leases, and follows the key feed. */
const gatewayGrants: GrantsOf = ({ prefix, cell }) => [
  grants.publish(usageSubjects(prefix, cell).batch),
  grants.publish(epochEndSubjects(prefix, cell)),
  grants.publish(leaseSubjects(prefix, cell).lease),
  grants.followBucket(keyFeedBucket(prefix)),
];

const grantsOf: Readonly<Record<NatsRole, GrantsOf>> = {
  api: apiGrants,
  worker: workerGrants,
  gateway: gatewayGrants,
};

export const natsRoles = ['api', 'worker', 'gateway'] as const satisfies readonly NatsRole[];

/** All subjects of a role, derived from the names and operations that its code uses. */
export function natsPermissions(role: NatsRole, place: NatsPlace): NatsPermissions {
  const inbox = grants.subscribe(`${natsInboxPrefix(place.prefix, role)}.>`);
  return combineGrants([inbox, ...grantsOf[role](place)]);
}
