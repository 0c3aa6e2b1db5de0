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

/** Supplier operations: enrolments. The machine requests to join, and is then trusted, inspected and tested. */

export const enrolmentId = prefixedId('enr', 'an enrolment');

const stage = z.enum(['trusting', 'inspecting', 'testing', 'enrolled', 'refused', 'withdrawn']).meta({
  description: 'Only enrolled machines can be rented. A refused machine can request to join again.',
});

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
      details: z.array(z.string()).meta({ description: 'The report of the driver for each GPU.' }),
    }),
  })
  .meta({
    id: 'SelfTest',
    description: 'The result of a test machine with all GPUs, reached over SSH from the platform.',
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
      .meta({ description: 'The current obstacle of the enrolment, or why it was refused.' }),
    steps: z.array(
      z.object({
        name: z.enum(['trusting', 'inspecting', 'testing']),
        status: z.enum(['done', 'under-way', 'to-do', 'failed']),
      }),
    ),
    machineId: nodeId.nullable(),
    tests: selfTest.nullable(),
    joinedAt: timestamp,
    deadlineAt: timestamp.nullable().meta({ description: 'When the current stage fails.' }),
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
    summary: 'Enrol a machine',
    description:
      'Called by the machine itself, as `join.sh` does. The join token in the body is the credential. Repeating the request for the same machine with the same token returns the same enrolment.',
    tags: ['machines'],
    body: z
      .object({
        token: z.string().min(1).max(200).meta({ description: 'The join token.' }),
        incusToken: z
          .string()
          .min(1)
          .max(8_192)
          .meta({ description: 'The output of `incus config trust add --restricted`. It is used once.' }),
        endpoint: z.string().min(1).max(512).meta({ description: 'https, a host and a port.' }),
        name: z
          .string()
          .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'must be at most 63 letters, digits, dots and hyphens'),
        serverCertificate: z
          .string()
          .min(1)
          .max(16_384)
          .meta({ description: 'PEM. The only certificate that is accepted at the endpoint.' }),
      })
      .meta({ id: 'EnrolmentStart' }),
    response: { status: 202, schema: z.object({ id: enrolmentId, stage }) },
    errors: [400, 403, 409, 413, 429, 500, 503],
  }),
  supplierListEnrolments: supplierOperation('GET /v2/supplier/enrolments', {
    scope: 'supplier:read',
    summary: 'List enrolments, newest first',
    tags: ['machines'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(enrolment) },
  }),
  supplierGetEnrolment: supplierOperation('GET /v2/supplier/enrolments/{enrolmentId}', {
    scope: 'supplier:read',
    summary: 'Read an enrolment',
    tags: ['machines'],
    params: z.object({ enrolmentId }),
    response: { status: 200, schema: enrolment },
    notFoundReason: 'ENROLMENT_NOT_FOUND',
  }),
} as const;
