/**
 * The next command for each error reason, because suggestions of the API name requests. A test finds reasons
 * without one.
 */
export const adviceByReason: Readonly<Record<string, string>> = {
  // Authentication and account
  MISSING_API_KEY: 'millrace login',
  MALFORMED_API_KEY: 'Copy the whole key, mr_live_… or mr_test_…, and log in again: millrace login',
  INVALID_API_KEY: 'Check that the key belongs to this installation, and log in again: millrace login',
  API_KEY_EXPIRED: 'Create a new key and log in with it: millrace login',
  API_KEY_REVOKED: 'Create a new key and log in with it: millrace login',
  INSUFFICIENT_SCOPE: 'See what this key can do: millrace whoami',
  KEY_LIMIT_EXCEEDED: 'See the limits of this key: millrace whoami --json',
  TEST_MODE_ONLY:
    'Use --region mock-region (for bare metal, a region that offers it), or log in with a live key: millrace login',
  PERSON_REQUIRED: 'Sign in to the console: API keys cannot change personal settings.',
  ORGANISATION_REQUIRED: 'Log in again: millrace login',
  NOT_A_MEMBER: 'Log in to one of your organisations: millrace login',
  SESSION_NOT_FOUND: 'See your sessions in the console.',
  INVITATION_NOT_FOUND: 'millrace invitation list',
  ORGANISATION_NOT_FOUND: 'millrace org list',
  MEMBER_NOT_FOUND: 'millrace member list',
  API_KEY_NOT_FOUND: 'millrace key list',
  API_KEY_LIMIT_REACHED: 'Revoke keys that you no longer use: millrace key list',
  SSH_KEY_NOT_FOUND: 'millrace ssh-key list',
  SSH_KEY_DUPLICATE: 'Use the existing key: millrace ssh-key list',
  SSH_KEY_LIMIT_REACHED: 'Remove keys that you no longer use: millrace ssh-key list',
  OPERATION_NOT_FOUND: 'Check the id. Records are kept for 30 days: millrace help operation',
  IDEMPOTENCY_IN_PROGRESS: 'Wait a moment and run the same command again.',
  ROUTE_NOT_FOUND: 'This installation may be older than your CLI. Compare: millrace version',
  WEBHOOK_NOT_FOUND: 'millrace webhook list',
  WEBHOOK_DISABLED: 'Enable it: millrace webhook update WEBHOOK_ID --enable',
  WEBHOOK_DELIVERY_NOT_FOUND: 'millrace webhook deliveries WEBHOOK_ID',

  // Money
  INSUFFICIENT_BALANCE: 'Check your balance and top up: millrace balance, then millrace topup 25',
  BUDGET_EXCEEDED: 'Wait for the next period, or raise the budget: millrace budget list',
  MAX_USD_EXCEEDED: 'See the price, then raise --max-usd or shorten the rental: millrace quote',
  PRICE_NOT_AVAILABLE: 'See what you can rent, and where: millrace offers',
  RESERVE_OPTION_NOT_FOUND: 'See the terms on offer: millrace reserve list',
  INVOICE_NOT_FOUND: 'millrace invoice list',
  BUDGET_NOT_FOUND: 'millrace budget list',
  TRANSFER_NOT_FOUND: 'millrace ledger',
  TOP_UP_NOT_FOUND: 'millrace topup list',

  // Machines
  INSUFFICIENT_CAPACITY: 'Try another region, GPU type or count. See what is available now: millrace offers',
  NO_PUBLIC_KEY: 'Add an SSH key first: millrace ssh-key add',
  REGION_DISABLED: 'See which regions are open: millrace offers',
  IDLE_RULE_NOT_SUPPORTED: 'Leave --idle-after out. Limit the cost with --ttl or --max-usd.',
  NETWORK_TYPE_NOT_SUPPORTED: 'See the available combinations: millrace offers',
  RENTAL_NOT_FOUND: 'millrace rental list',
  ACTION_IN_PROGRESS: 'Wait until it is complete: millrace rental list',
  CONSOLE_NOT_SUPPORTED: 'Log in instead: millrace ssh NAME',
  VOLUME_NOT_FOUND: 'millrace volume list',
  SNAPSHOT_NOT_FOUND: 'millrace volume snapshot list VOLUME_ID',
  MACHINE_NOT_FOUND: 'millrace market list',
  MACHINE_NOT_READY: 'millrace market list',
  GPU_COUNT_EXCEEDS_AVAILABLE: 'millrace market list',
  INSTANCE_NOT_FOUND: 'millrace market instances',
  WRONG_MARKETPLACE_PATH: 'millrace market terminate INSTANCE_ID',

  // Models
  MODEL_NOT_FOUND: 'millrace models',
  MODEL_NOT_ALLOWED: 'See the models that this key can use: millrace models',
  BATCH_NOT_FOUND: 'Find the batches of your ledger lines: millrace ledger --cause inference',
  REQUEST_NOT_FOUND: 'Use the id that came with the response: millrace usage request REQUEST_ID',

  // Suppliers and operators
  SUPPLIER_NOT_APPROVED: 'See the status of your application: millrace supplier account',
  SUPPLIER_EXISTS: 'See the status of your application: millrace supplier account',
  JOIN_TOKEN_INVALID: 'Create another token: millrace supplier join-token create',
  JOIN_TOKEN_NOT_FOUND: 'millrace supplier join-token list',
  ENROLMENT_NOT_FOUND: 'millrace supplier enrolment list',
  STATEMENT_NOT_FOUND: 'millrace supplier statement list',
  PAYOUT_NOT_FOUND: 'millrace supplier payout list',
  PAYOUT_EXCEEDS_EARNINGS: 'See the payable amount: millrace supplier earnings',
  AUDIT_REPORT_NOT_FOUND: 'List the audit reports and use an id from the list.',
  NODE_NOT_FOUND: 'millrace admin node list',
  NODE_HAS_WORK: 'Drain it and wait until it is empty: millrace admin node drain NODE_ID',
  CLUSTER_NOT_FOUND: 'millrace admin cluster list',
  PROVIDER_NOT_FOUND: 'millrace admin provider list',
  PRICE_NOT_FOUND: 'millrace admin price list',
  DEPLOYMENT_NOT_FOUND: 'millrace admin deployment list',
  ENTITLEMENT_NOT_FOUND: 'millrace admin entitlement list ORGANISATION_ID',
  MAINTENANCE_NOT_FOUND: 'millrace admin maintenance list',
  SUPPLIER_NOT_FOUND:
    'Apply with millrace supplier apply. Operators list all suppliers with millrace admin supplier list',
};
