import type { Output } from '@millrace/sdk';

export type Account = Output<'supplierGetAccount'>;
