/** The first words of commands, as the overview shows them. A test holds them to the commands that there are. */
export const nounGroups: readonly {
  readonly title: string;
  readonly nouns: Readonly<Record<string, string>>;
}[] = [
  {
    title: 'Rent machines',
    nouns: {
      offers: 'What can be rented now, where, at what price',
      catalog: 'Offers, terms and models at list prices, without a key',
      quote: 'What a rental would cost',
      rental: 'Create, watch, stop and terminate rentals',
      ssh: 'Log in to a rental',
      logs: 'What the console of a rental shows',
      cost: 'What a rental has cost so far',
      reserve: 'Terms with a discount',
      volume: 'Storage that outlives rentals',
      market: 'Machines of suppliers, and instances on them',
    },
  },
  {
    title: 'Run models',
    nouns: {
      models: 'Models and their prices',
      chat: 'Talk to a model',
      complete: 'Continue a text',
      image: 'Make a picture',
      speech: 'Make speech of text',
    },
  },
  {
    title: 'Money',
    nouns: {
      balance: 'What is left, and how long it lasts',
      usage: 'What was used, by day and model',
      ledger: 'Every charge and payment',
      topup: 'Add money',
      budget: 'Limits on spending',
      invoice: 'Monthly invoices',
      'cost-export': 'Costs as a file for other tools',
      limits: 'What you may do, and how often',
    },
  },
  {
    title: 'Account',
    nouns: {
      login: 'Sign in, and keep an API key for this machine',
      logout: 'Forget a key',
      whoami: 'Who you are and what your key may do',
      profile: 'Several installations or keys side by side',
      key: 'API keys',
      'ssh-key': 'Keys that log in to rentals',
      org: 'Your organisations',
      member: 'People of an organisation',
      invitation: 'People who were invited to an organisation',
      'audit-log': 'Who did what',
      me: 'Your own settings',
    },
  },
  {
    title: 'Build on it',
    nouns: {
      events: 'What happens, as it happens',
      webhook: 'Have events sent to you',
      operation: 'What became of a request',
      api: 'Call any operation of the API',
      document: 'The API as OpenAPI',
      installation: 'What this installation offers to people',
      completion: 'Completions for your shell',
      help: 'Help on a command or a topic',
      version: 'The version of this program',
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

/** Nouns below a noun, for their own help. */
const nestedNouns: Readonly<Record<string, string>> = {
  'admin audit-log': 'Who did what, in every organisation',
  'admin cluster': 'Clusters: the engines that run machines',
  'admin deployment': 'Engines that serve models',
  'admin entitlement': 'Discounts that an organisation may claim',
  'admin machine': 'Machines of suppliers, to approve or reject',
  'admin maintenance': 'Maintenance windows',
  'admin model': 'Models on offer',
  'admin node': 'Nodes of the fleet',
  'admin org': 'Organisations and their money',
  'admin payout': 'Payouts to suppliers',
  'admin price': 'The price book',
  'admin provider': 'Providers of machines',
  'admin rental': 'Rentals of every organisation',
  'admin reservation': 'What customers asked to reserve',
  'admin reserve-option': 'Terms with a discount',
  'admin supplier': 'Those who offer machines',
  'admin transfer': 'What moved money',
  'market instance': 'Instances on machines of suppliers',
  'supplier enrolment': 'Machines that asked to join',
  'supplier join-token': 'Tokens with which machines join',
  'supplier machine': 'Your machines',
  'supplier payout': 'What you were paid',
  'supplier statement': 'What you earned, month by month',
  'volume snapshot': 'Snapshots of a volume',
};

/** What a noun is about, if it is one: `rental`, `admin node`. */
export function nounSummary(noun: string): string | undefined {
  const own = nounGroups.map(({ nouns }) => nouns[noun]).find((summary) => summary !== undefined);
  return own ?? nestedNouns[noun];
}
