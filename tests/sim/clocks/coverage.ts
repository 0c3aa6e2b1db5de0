/**
 * Loops that this simulation does not run, each with the reason why a wrong clock of its process can do no harm there. A
 * loop that is neither here nor among the sweeps fails the simulation.
 */
export const withoutSweep: Readonly<Record<string, string>> = {
  // They wait and measure by monotonic time only, and write nothing that depends on the time of day.
  'register with Restate': 'asks Restate',
  'keep the event stream': 'asks NATS',
  'keep the usage stream': 'asks NATS',
  'keep the gateway book': 'compares rows with NATS',
  'write the gateway book': 'copies rows to NATS; a price or key is told with its times, not judged here',
  'watch deployments': 'counts failures of engines in a row',
  'serve names': 'compares rows with Caddy',
  'compare the restore mark': 'compares marks, which are numbers',
  'check feed heads': 'compares sequence numbers',
  'follow the listing':
    'reads changes; the wall clock only shows that the machine was asleep, and it then reads again',
  'reseal webhooks': 'seals secrets again',
  'read cluster': 'asks an engine and writes by the clock of the transaction',
  'listen to cluster': 'waits for an engine',
  'watch clusters': 'claims clusters by the clock of the transaction',
  'compare rentals': 'judges orphans by the clock of the database; see the tests of the reconciler',
  'remove orphaned machines': 'judges by the clock of the database; see the tests of orphans',
  'enrol machines': 'claims and refuses by the clock of the database; needs the daemon of a supplier',
  'walk wallets': 'a part of posting meters, which is run',
  'call off stops': 'a part of posting meters, which is run',
  'keep samples': 'a part of sampling machines, which is run',
  'carry out idle rules': 'a part of sampling machines, which is run',
  'remove leftover volumes': 'a part of looking at storage nodes, which is run; removes what is purged',
  'forget items of loops': 'forgets failures that are over, by the clock of the transaction',
  'send mail': 'claims letters by the clock of the database',
  'address notices': 'has no time',
  'measure outbox': 'measures',
  'measure webhooks': 'measures',
  'tell figures of suppliers': 'measures',
  'tell fleet figures': 'measures',
  audit: 'reads; its schedule is kept by PostgreSQL',
  // Their leases are taken, kept and judged by PostgreSQL itself, in SQL.
  'relay leases': 'clock_timestamp() in SQL',
  'publish events': 'clock_timestamp() in SQL',
  'dispatch commands': 'clock_timestamp() in SQL',
  'move events': 'clock_timestamp() in SQL',
  'work through usage': 'clock_timestamp() in SQL',
  'charge deferred usage':
    'charges what gateways reported, whatever the time; retries by clock_timestamp() in SQL',
  'claim webhooks': 'leases by clock_timestamp() in SQL, deliveries by the clock of the database',
  'keep webhooks': 'clock_timestamp() in SQL',
  'forget old events': 'clock_timestamp() in SQL',
  'forget old notices': 'clock_timestamp() in SQL',
};

/**
 * Sweeps that are run with wrong clocks, but for which nothing is planted that a wrong clock would touch. Every other sweep
 * is shown to be noticed when its transactions go by the clock of the process.
 */
export const withoutTestData: Readonly<Record<string, string>> = {
  'close leases of pots': 'goes by positions in a stream',
  'settle ended gateways': 'goes by positions in a stream',
  'sample machines': 'adds samples; deletes and charges nothing',
  'forget samples and consoles': 'see the tests of samples and consoles',
  'look at storage nodes': 'asks nodes, which answer',
  'write statements of suppliers': 'see the tests of statements',
  'measure machines of suppliers': 'see the tests of trust',
  'judge machines of suppliers': 'see the tests of trust',
  'forget days of machines': 'see the tests of trust',
};
