import type { Output } from '../sdk.ts';
import { timestampText } from '../text/timestamps.ts';

type OperationRecord = Output<'getOperation'>;

export const operationColumns = [
  { name: 'id', value: (record: OperationRecord) => record.id },
  { name: 'operation', value: (record: OperationRecord) => record.operationId },
  { name: 'status', value: (record: OperationRecord) => record.status },
  { name: 'answered', value: (record: OperationRecord) => record.httpStatus },
  {
    name: 'resource',
    value: ({ resource }: OperationRecord) => (resource === null ? '' : `${resource.kind}:${resource.id}`),
  },
  { name: 'created', value: (record: OperationRecord) => timestampText(record.createdAt) },
  { name: 'forgotten', value: (record: OperationRecord) => timestampText(record.expiresAt) },
  { name: 'key', value: (record: OperationRecord) => record.idempotencyKey },
] as const;
