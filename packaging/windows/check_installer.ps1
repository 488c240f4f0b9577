# Installs Slipstream without questions, has it answer one prompt, installs over it and removes it again.
#   pwsh packaging/windows/check_installer.ps1 INSTALLER PICTURE        (run by .github/workflows/release.yml)
#
# Not run on Windows yet. Checked: the paths and options, by reading.
param([Parameter(Mandatory)] [string] $Installer, [Parameter(Mandatory)] [string] $Picture)
$ErrorActionPreference = "Stop"
$place = Join-Path ([IO.Path]::GetTempPath()) "slipstream-check"
$app = Join-Path $place "app"
$data = Join-Path $place "data"
$silent = "/VERYSILENT", "/SUPPRESSMSGBOXES", "/NORESTART", "/CURRENTUSER"

function Invoke-Program([string] $file, [string[]] $arguments) {
    $process = Start-Process -FilePath $file -ArgumentList $arguments -Wait -PassThru -NoNewWindow
    if ($process.ExitCode -ne 0) { throw "$file ended with $($process.ExitCode)" }
}

function Test-App {
    Remove-Item $Picture -ErrorAction SilentlyContinue
    Invoke-Program (Join-Path $app "slipstream-cli.exe") "--smoke", "`"$Picture`""
    if (-not (Test-Path $Picture)) { throw "There is no picture of the answer." }
}

Remove-Item $place -Recurse -Force -ErrorAction SilentlyContinue
New-Item -ItemType Directory $place | Out-Null
$env:SLIPSTREAM_DATA_DIR = $data

Invoke-Program $Installer ($silent + "/DIR=`"$app`"")
if (Get-ChildItem $app -Recurse -Filter "vcomp140.dll") { throw "llama.cpp was built with OpenMP." }
Test-App
Invoke-Program $Installer ($silent + "/DIR=`"$app`"") # an upgrade in place
Test-App
Invoke-Program (Join-Path $app "unins000.exe") $silent
# The uninstaller continues in a copy of itself for a moment.
for ($i = 0; $i -lt 60 -and (Test-Path (Join-Path $app "slipstream.exe")); $i++) { Start-Sleep -Seconds 1 }
if (Test-Path (Join-Path $app "slipstream.exe")) { throw "The app was not removed." }
if (-not (Get-ChildItem $data)) { throw "What the user had is gone." }
Remove-Item $place -Recurse -Force
