/** The first words of commands, in the groups of the root help. A test compares them with the commands. */
export const nounGroups: readonly {
  readonly title: string;
  readonly nouns: Readonly<Record<string, string>>;
}[] = [
  {
    title: 'Rent machines',
    nouns: {
      offers: 'List what you can rent now, with prices',
      catalog: 'Offers, terms and models at list prices, without a key',
      quote: 'Quote the cost of a rental',
      rental: 'Create, watch, stop and terminate rentals',
      ssh: 'Log in to a rental',
      logs: 'Show the console output of a rental',
      cost: 'Show the cost of a rental',
      reserve: 'Reserved terms with a discount',
      volume: 'Storage that is independent of rentals',
      market: 'Machines of suppliers, and your instances on them',
    },
  },
  {
    title: 'Run models',
    nouns: {
      models: 'Models and their prices',
      chat: 'Chat with a model',
      complete: 'Complete a text',
      image: 'Generate an image',
      speech: 'Convert text to speech',
    },
  },
  {
    title: 'Money',
    nouns: {
      balance: 'Show the balance and how long it lasts',
      usage: 'Usage and cost by day, model or key',
      ledger: 'All charges and payments',
      topup: 'Add money',
      budget: 'Spending limits',
      invoice: 'Monthly invoices',
      'cost-export': 'Costs as CSV for other tools',
      limits: 'Your rate limits and quotas',
    },
  },
  {
    title: 'Account',
    nouns: {
      login: 'Sign in and save an API key',
      logout: 'Remove a saved key',
      whoami: 'Show your account and the rights of your key',
      profile: 'Saved keys and installations',
      key: 'API keys',
      'ssh-key': 'SSH keys for rentals',
      org: 'Your organisations',
      member: 'Members of an organisation',
      invitation: 'Invitations to an organisation',
      'audit-log': 'The audit log of your organisation',
      me: 'Your personal settings',
    },
  },
  {
    title: 'Build on Millrace',
    nouns: {
      events: 'Follow events as they happen',
      webhook: 'Send events to your server',
      operation: 'Results of earlier requests',
      api: 'Call any operation of the API',
      document: 'The OpenAPI documents',
      installation: 'Sign-in options of this installation',
      completion: 'Shell completions',
      help: 'Help on a command or a topic',
      version: 'The version of the CLI',
    },
  },
  {
    title: 'Run a cloud',
    nouns: {
      supplier: 'Offer your machines on the marketplace',
      admin: 'For operators: fleet, prices, organisations, money',
    },
  },
];

/** Nouns of two words, for their help pages. */
const nestedNouns: Readonly<Record<string, string>> = {
  'admin audit-log': 'The audit log of all organisations',
  'admin cluster': 'Clusters: the engines that run machines',
  'admin deployment': 'Engines that serve models',
  'admin entitlement': 'Discounts of an organisation',
  'admin machine': 'Machines of suppliers, to approve or reject',
  'admin maintenance': 'Maintenance windows',
  'admin model': 'Models of the catalog',
  'admin node': 'Nodes of the fleet',
  'admin org': 'Organisations and their money',
  'admin payout': 'Payouts to suppliers',
  'admin price': 'The price list',
  'admin provider': 'Providers of machines',
  'admin rental': 'Rentals of all organisations',
  'admin reservation': 'Requests for large reservations',
  'admin reserve-option': 'Reserved terms with a discount',
  'admin supplier': 'Suppliers and their applications',
  'admin transfer': 'Transfers of the ledger',
  'market instance': 'Instances on machines of suppliers',
  'supplier enrolment': 'Machines that requested to join',
  'supplier join-token': 'Tokens for machines that join',
  'supplier machine': 'Your machines',
  'supplier payout': 'Your payouts',
  'supplier statement': 'Your monthly earnings',
  'volume snapshot': 'Snapshots of a volume',
};

export function nounSummary(noun: string): string | undefined {
  const own = nounGroups.map(({ nouns }) => nouns[noun]).find((summary) => summary !== undefined);
  return own ?? nestedNouns[noun];
}
