/**
 * Every loop of the product, by the name that `startLoop` gets: the item loops that it runs (see `defineLoop`), or why
 * no item of one tenant, cluster or node can hold back another's. A test
 * finds the loops in the sources, refuses one that is not listed here, and requires a case with a poisoned item for each loop
 * over shared items.
 */
export const loopCatalog: Readonly<Record<string, LoopEntry>> = {
  // apps/worker: what is due
  'close due api keys': ['close due api keys'],
  'ask about undecided payments': ['ask about undecided payments'],
  'post meters': ['post meters', 'walk wallets', 'call off stops'],
  'keep maintenance windows': ['keep maintenance windows'],
  'take expired promotional credit': ['take expired promotional credit'],
  'write statements of suppliers': ['write statements of suppliers'],
  'make invoices': ['make invoices'],
  'carry out what balances require': ['carry out what balances require'],
  'freeze unpaid volumes': ['freeze unpaid volumes'],
  'forget idempotency keys': 'One statement that deletes by age and looks into no row.',
  'forget old events': 'One statement that deletes by age and looks into no row.',
  'forget samples and consoles': 'Statements that delete by age and look into no row.',
  'forget items of loops': 'One statement that deletes by age, and one that counts.',
  // rentals and machines
  'call for due rentals': ['call for due rentals'],
  'recover stuck rentals': ['recover stuck rentals'],
  'compare rentals': ['remove orphaned machines'],
  'repair late rentals': ['repair late rentals'],
  'sample machines': ['sample machines', 'keep samples', 'carry out idle rules'],
  'enrol machines': ['enrol machines'],
  'measure machines of suppliers': ['measure machines of suppliers'],
  'judge machines of suppliers': ['judge machines of suppliers'],
  'tell figures of suppliers': 'Reads sums for metrics, and writes nothing.',
  'forget days of machines': 'One statement that deletes by age and looks into no row.',
  'watch clusters':
    'Only renews leases of clusters. Each cluster has loops of its own, and a stuck one is given up.',
  'read cluster': 'One loop for each cluster, with a deadline for each call.',
  'listen to cluster': 'One loop for each cluster, which only waits for its events.',
  'tell fleet figures': 'Reads sums for metrics, and writes nothing.',
  // volumes
  'look at storage nodes': ['look at storage nodes', 'remove leftover volumes'],
  'bring volumes about': ['bring volumes about'],
  supervision: ['supervise volumes'],
  // inference
  'write the gateway book': ['write the gateway book'],
  'keep the gateway book':
    'Compares whole pages and passes over entries that fail; the changes are another loop.',
  'watch deployments': ['watch deployments'],
  'work through usage': {
    byItself: 'A failing batch is charged by organisation; what fails is deferred or put aside.',
  },
  'charge deferred usage': ['charge deferred usage'],
  'keep the usage stream': 'One stream of the cell.',
  'keep the usage tables': 'Partitions by day, of no tenant.',
  'call in leases of pots': ['call in leases of pots'],
  'close leases of pots': ['close leases of pots'],
  'give up silent gateways': ['give up silent gateways'],
  'settle ended gateways': ['settle ended gateways'],
  'gateway deadlines': 'Compares times in memory and calls nothing.',
  'gateway leases': ['tend leases'],
  // events, webhooks, mail
  'relay leases': 'Renews leases of shards by one statement.',
  'publish events': { byItself: 'Each event has a time-out; those that fail are left for the next turn.' },
  'dispatch commands': {
    byItself: 'One queue for each object; a refused command waits, and is parked in the end.',
  },
  'move events': { byItself: 'A refused batch is moved one by one; a refused event is parked in the end.' },
  'measure outbox': 'Reads sums for metrics.',
  'keep the event stream': 'One stream of the installation.',
  'check feed heads': 'Reads heads of feeds by one statement, and writes nothing.',
  'claim webhooks': ['claim webhooks'],
  'keep webhooks': 'Renews leases by one statement.',
  'measure webhooks': 'Reads sums for metrics.',
  'tidy webhooks': 'Statements that delete by age and look into no row.',
  'reseal webhooks': ['reseal webhooks'],
  'address notices': ['address notices'],
  'send mail': ['send mail'],
  'forget old notices': 'One statement that deletes by age and looks into no row.',
  // the process itself
  'compare the restore mark': 'One mark of the installation.',
  'compare clocks': "Reads one time, the database's.",
  'register with Restate': 'The handlers of this process.',
  'expired sessions': 'One statement that deletes by age and looks into no row.',
  'follow the listing': 'Reads machines into one table in memory by pages, and writes nothing of a tenant.',
  'serve names':
    'One configuration for all names; a name server that does not answer is waited for by its own names.',
  audit: 'Reads only: each check is statements over all tenants with a time-out of its own.',
};

/** A sentence: nothing is shared. A list: item loops. `byItself`: how the loop keeps items apart without them. */
type LoopEntry = string | readonly string[] | { readonly byItself: string };
