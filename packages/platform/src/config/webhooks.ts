import { fragment } from './fragment.ts';
import { values } from './values.ts';

/** What every process must know of webhooks: where tenants' receivers may be. */
export const webhooksConfig = fragment('webhooks', {
  allowedNetworks: {
    env: 'MILLRACE_WEBHOOK_ALLOWED_NETWORKS',
    schema: values.listOf(values.cidr).default([]),
    expected:
      'a comma-separated list of addresses or CIDR blocks beside the public internet at which receivers of webhooks may be',
    example: '10.30.0.0/16',
  },
});
