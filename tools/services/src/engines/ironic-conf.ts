import path from 'node:path';

export type IronicConf = Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>>;

export interface IronicSettings {
  /** Parent folder of everything that Ironic writes. */
  readonly home: string;
  readonly port: number;
  /** Ironic writes files for machines to this folder; another server serves them at `filesUrl`. */
  readonly filesFolder: string;
  readonly filesUrl: string;
  /** Overrides the defaults below, for example delays of the fake driver or time limits of a test. */
  readonly conf?: IronicConf | undefined;
}

/** The same on every site, because a conductor manages the nodes of a copied database only under the same host name. */
const hostName = 'millrace';

export const ironicPaths = (home: string) => ({
  conf: path.join(home, 'ironic.conf'),
  database: path.join(home, 'ironic.sqlite'),
  password: path.join(home, 'password'),
  htpasswd: path.join(home, 'htpasswd'),
  /** Folder of kernels, ramdisks and images that `file:` URLs may name. */
  images: path.join(home, 'images'),
  folders: ['images', 'tftp', 'master', 'tmp', 'lock'].map((name) => path.join(home, name)),
});

/**
 * API and conductor in one process, without a message bus. `noop` leaves networks to the data centre. Real machines use Redfish
 * with virtual media; `fake-hardware` is for tests.
 */
function standard({ home, port, filesFolder, filesUrl }: IronicSettings): IronicConf {
  const places = ironicPaths(home);
  const inHome = (name: string): string => path.join(home, name);
  return {
    DEFAULT: {
      auth_strategy: 'http_basic',
      http_basic_auth_user_file: places.htpasswd,
      rpc_transport: 'none',
      host: hostName,
      my_ip: '127.0.0.1',
      use_stderr: true,
      state_path: home,
      tempdir: inHome('tmp'),
      isolinux_bin: '/usr/lib/ISOLINUX/isolinux.bin',
      ldlinux_c32: '/usr/lib/syslinux/modules/bios/ldlinux.c32',
      enabled_hardware_types: 'fake-hardware,redfish',
      enabled_bios_interfaces: 'fake,no-bios',
      enabled_boot_interfaces: 'fake,redfish-virtual-media',
      enabled_console_interfaces: 'fake,no-console',
      enabled_deploy_interfaces: 'fake,direct',
      enabled_inspect_interfaces: 'fake,no-inspect,redfish',
      enabled_management_interfaces: 'fake,redfish',
      enabled_network_interfaces: 'noop',
      enabled_power_interfaces: 'fake,redfish',
      enabled_raid_interfaces: 'fake,no-raid',
      enabled_rescue_interfaces: 'fake,no-rescue',
      enabled_storage_interfaces: 'noop,fake',
      enabled_vendor_interfaces: 'fake,no-vendor',
      default_network_interface: 'noop',
      default_resource_class: 'baremetal',
      graceful_shutdown_timeout: 5,
    },
    api: { host_ip: '127.0.0.1', port, api_workers: 1 },
    oslo_concurrency: { lock_path: inHome('lock') },
    // Data survives a crash of Ironic, but not of the machine: Ironic would wait for the disk at every step of every node.
    database: { connection: `sqlite:///${places.database}`, sqlite_synchronous: false },
    service_catalog: { auth_type: 'none', endpoint_override: `http://127.0.0.1:${port}` },
    dhcp: { dhcp_provider: 'none' },
    conductor: {
      automated_clean: true,
      sync_power_state_interval: 60,
      workers_pool_size: 100,
      file_url_allowed_paths: places.images,
      permitted_image_formats: 'raw,qcow2,iso',
    },
    deploy: {
      http_root: filesFolder,
      http_url: filesUrl,
      default_boot_mode: 'bios',
      // For tests, because overwriting whole disks takes hours. A data centre with tenants must keep Ironic's defaults.
      erase_devices_priority: 0,
      erase_devices_metadata_priority: 10,
    },
    agent: { image_download_source: 'http', require_tls: false },
    redfish: { use_swift: false },
    pxe: {
      tftp_root: inHome('tftp'),
      images_path: places.images,
      instance_master_path: inHome('master'),
      tftp_master_path: inHome('master'),
    },
    oslo_messaging_notifications: { driver: 'noop' },
  };
}

export function renderIronicConf(settings: IronicSettings): string {
  const base = standard(settings);
  const more = settings.conf ?? {};
  const names = new Set([...Object.keys(base), ...Object.keys(more)]);
  return [...names]
    .map((name) => {
      const lines = Object.entries({ ...base[name], ...more[name] }).map(
        ([key, value]) => `${key} = ${value}`,
      );
      return `[${name}]\n${lines.join('\n')}\n`;
    })
    .join('\n');
}
