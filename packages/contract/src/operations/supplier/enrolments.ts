import { z } from 'zod';
import {
  explicitOperation,
  pageOf,
  pageQuery,
  prefixedId,
  supplierOperation,
  timestamp,
} from '../../operation-builders.ts';
import { nodeId } from '../node-schemas.ts';

/** How a machine joins: asked for from the machine itself, then trusted, inspected and tested. */

export const enrolmentId = prefixedId('enr', 'an enrolment');

const stage = z
  .enum(['trusting', 'inspecting', 'testing', 'enrolled', 'refused', 'withdrawn'])
  .meta({ description: 'Only what is enrolled can be rented out. What was refused may ask to join again.' });

const rate = z.int().nonnegative();

const selfTest = z
  .object({
    cpu: z.object({ count: rate.nullable(), mibPerSecond: rate }),
    memory: z.object({ mibPerSecond: rate }),
    disk: z.object({ mibPerSecond: rate }),
    network: z.object({ downMbps: rate, upMbps: rate }),
    gpu: z.object({
      count: rate,
      clockMhz: rate.nullable(),
      details: z.array(z.string()).meta({ description: 'What the driver inside says of each GPU.' }),
    }),
  })
  .meta({
    id: 'SelfTest',
    description: 'What a machine with all GPUs showed over SSH, seen from the platform.',
  });

const enrolment = z
  .object({
    id: enrolmentId,
    name: z.string(),
    endpoint: z.string(),
    clusterName: z.string(),
    region: z.string(),
    stage,
    problem: z
      .string()
      .nullable()
      .meta({ description: 'What stands in the way now, or why it was refused.' }),
    steps: z.array(
      z.object({
        name: z.enum(['trusting', 'inspecting', 'testing']),
        status: z.enum(['done', 'under-way', 'to-do', 'failed']),
      }),
    ),
    machineId: nodeId.nullable(),
    tests: selfTest.nullable(),
    joinedAt: timestamp,
    deadlineAt: timestamp.nullable().meta({ description: 'When the stage that is under way is given up.' }),
    enrolledAt: timestamp.nullable(),
  })
  .meta({ id: 'Enrolment' });

export const enrolmentOperations = {
  supplierStartEnrolment: explicitOperation('POST /v2/supplier/enrolments', {
    document: 'supplier',
    source: 'own',
    errorFamily: 'v2',
    auth: 'none',
    scope: null,
    summary: 'Let a machine join',
    description:
      'Asked by the machine itself, as `join.sh` does. The join token in the body is the credential. Asking again for ' +
      'the same machine with the same token answers the same enrolment.',
    tags: ['machines'],
    body: z
      .object({
        token: z.string().min(1).max(200).meta({ description: 'The join token.' }),
        incusToken: z
          .string()
          .min(1)
          .max(8_192)
          .meta({ description: 'What `incus config trust add --restricted` printed. It is used once.' }),
        endpoint: z.string().min(1).max(512).meta({ description: 'https, a host and a port.' }),
        name: z
          .string()
          .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'must be letters, digits, dots, hyphens, 63 at most'),
        serverCertificate: z
          .string()
          .min(1)
          .max(16_384)
          .meta({ description: 'PEM. The only certificate that will be believed at the endpoint.' }),
      })
      .meta({ id: 'EnrolmentStart' }),
    response: { status: 202, schema: z.object({ id: enrolmentId, stage }) },
    errors: [400, 403, 409, 413, 429, 500, 503],
  }),
  supplierListEnrolments: supplierOperation('GET /v2/supplier/enrolments', {
    scope: 'supplier:read',
    summary: 'How machines that asked to join stand, newest first',
    tags: ['machines'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(enrolment) },
  }),
  supplierGetEnrolment: supplierOperation('GET /v2/supplier/enrolments/{enrolmentId}', {
    scope: 'supplier:read',
    summary: 'How one machine that asked to join stands',
    tags: ['machines'],
    params: z.object({ enrolmentId }),
    response: { status: 200, schema: enrolment },
    notFoundReason: 'ENROLMENT_NOT_FOUND',
  }),
} as const;
