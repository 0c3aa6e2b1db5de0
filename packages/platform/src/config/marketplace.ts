import { z } from 'zod';
import { fragment } from './fragment.ts';
import { values } from './values.ts';

/** Marketplace settings that every process needs. */
export const marketplaceConfig = fragment('marketplace', {
  provider: {
    env: 'MILLRACE_MARKETPLACE_PROVIDER',
    schema: z.string().min(1).max(63).default('marketplace'),
    expected: 'the id of the provider (with the driver incus) that the machines of suppliers belong to',
    example: 'marketplace',
  },
  credential: {
    env: 'MILLRACE_MARKETPLACE_CREDENTIAL',
    schema: z.string().min(1).max(255).default('suppliers'),
    expected:
      'the name of the entry of MILLRACE_FLEET_CREDENTIALS_FILE with the certificate and key that suppliers trust',
    example: 'suppliers',
  },
  payoutHoldDays: {
    env: 'MILLRACE_PAYOUT_HOLD_DAYS',
    schema: values.wholeNumber(0, 90).default(7),
    expected: 'how many days suppliers wait before they can request a payout of earnings, 0 to 90',
    example: '14',
  },
  allowedNetworks: {
    env: 'MILLRACE_MARKETPLACE_ALLOWED_NETWORKS',
    schema: values.listOf(values.cidr).default([]),
    expected:
      'a comma-separated list of addresses or CIDR blocks, besides the public internet, where machines of suppliers may be',
    example: '10.20.0.0/16',
  },
});
