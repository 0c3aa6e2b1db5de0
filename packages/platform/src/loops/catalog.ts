/**
 * All loops of the product, by the name passed to `startLoop`: the item loops that the loop runs (see `defineLoop`), or
 * the reason why an item of one owner cannot block another's. A test compares this list with the sources, and requires
 * a test with a failing item for each loop over shared items.
 */
export const loopCatalog: Readonly<Record<string, LoopEntry>> = {
  // apps/worker: due work
  'close due api keys': ['close due api keys'],
  'ask about undecided payments': ['ask about undecided payments'],
  'post meters': ['post meters', 'walk wallets', 'call off stops'],
  'keep maintenance windows': ['keep maintenance windows'],
  'take expired promotional credit': ['take expired promotional credit'],
  'write statements of suppliers': ['write statements of suppliers'],
  'make invoices': ['make invoices'],
  'carry out what balances require': ['carry out what balances require'],
  'freeze unpaid volumes': ['freeze unpaid volumes'],
  'forget idempotency keys': 'One statement that deletes rows by age.',
  'delete finished rows':
    'One statement for each table that deletes rows by age; a failing one stops no other.',
  'archive closed months': 'Moves batches of the ledger in the order of time, whole or not at all.',
  'archive requests of closed months':
    'Deletes days in their order, and batches of leases, whole or not at all.',
  'forget old events': 'One statement that deletes rows by age.',
  'forget samples and consoles': 'Statements that delete rows by age.',
  'forget items of loops': 'One statement that deletes rows by age, and one that counts.',
  // rentals and machines
  'call for due rentals': ['call for due rentals'],
  'recover stuck rentals': ['recover stuck rentals'],
  'compare rentals': ['remove orphaned machines'],
  'repair late rentals': ['repair late rentals'],
  'sample machines': ['sample machines', 'keep samples', 'carry out idle rules'],
  'enrol machines': ['enrol machines'],
  'measure machines of suppliers': ['measure machines of suppliers'],
  'judge machines of suppliers': ['judge machines of suppliers'],
  'tell figures of suppliers': 'Only reads sums for metrics.',
  'forget days of machines': 'One statement that deletes rows by age.',
  'watch clusters':
    'Only renews leases of clusters. Each cluster has its own loops, and a stuck one is abandoned.',
  'read cluster': 'One loop for each cluster, with a deadline for each call.',
  'listen to cluster': 'One loop for each cluster, which only waits for events.',
  'tell fleet figures': 'Only reads sums for metrics.',
  'record metrics of the installation': 'Only reads sums for metrics.',
  // volumes
  'look at storage nodes': ['look at storage nodes', 'remove leftover volumes'],
  'bring volumes about': ['bring volumes about'],
  supervision: ['supervise volumes'],
  // inference
  'write the gateway book': ['write the gateway book'],
  'keep the gateway book':
    'Compares whole pages and skips entries that fail; another loop writes the changes.',
  'watch deployments': ['watch deployments'],
  'work through usage': {
    byItself: 'A failed batch is charged by organisation; usage that fails is deferred or quarantined.',
  },
  'charge deferred usage': ['charge deferred usage'],
  'keep the usage stream': 'One stream of the cell.',
  'keep the usage tables': 'Partitions by day, independent of tenants.',
  'call in leases of pots': ['call in leases of pots'],
  'close leases of pots': ['close leases of pots'],
  'give up silent gateways': ['give up silent gateways'],
  'settle ended gateways': ['settle ended gateways'],
  'gateway deadlines': 'Compares times in memory and calls nothing.',
  'gateway leases': ['tend leases'],
  // events, webhooks, mail
  'relay leases': 'Renews all leases of shards in one statement.',
  'publish events': { byItself: 'Each event has a timeout; failed events wait for the next run.' },
  'dispatch commands': {
    byItself: 'One queue for each object; a refused command is retried, then parked.',
  },
  'move events': { byItself: 'A refused batch is moved event by event; a refused event is parked.' },
  'measure outbox': 'Only reads sums for metrics.',
  'keep the event stream': 'One stream of the installation.',
  'check feed heads': 'Only reads heads of feeds, in one statement.',
  'claim webhooks': ['claim webhooks'],
  'keep webhooks': 'Renews all leases in one statement.',
  'measure webhooks': 'Only reads sums for metrics.',
  'tidy webhooks': 'Statements that delete rows by age.',
  'reseal webhooks': ['reseal webhooks'],
  'address notices': ['address notices'],
  'send mail': ['send mail'],
  'forget old notices': 'One statement that deletes rows by age.',
  // the process
  'compare the restore mark': 'One mark of the installation.',
  'compare clocks': "Reads one time, the database's.",
  'register with Restate': 'The handlers of this process.',
  'TLS files': 'Reads two files.',
  'accepted clients': 'Reads one file.',
  'expired sessions': 'One statement that deletes rows by age.',
  'check the public status': 'Only reads, with a time limit for each section, and stores nothing.',
  'follow the listing': 'Reads machines into memory by pages, and writes nothing.',
  'serve names':
    'One configuration for all hostnames; a name server that does not respond delays only its own hostnames.',
  audit: 'Only reads: each check runs statements over all tenants with its own timeout.',
};

/** Text: why nothing is shared. List: item loops. `byItself`: how the loop isolates items without a runner. */
type LoopEntry = string | readonly string[] | { readonly byItself: string };
