# A formula for Homebrew on Linux: it installs the static program as it was built.
class Halfpower < Formula
  desc "Measures disks and says what to expect from them and how to use them"
  homepage "@URL@"
  url "@URL@/@VERSION@/@FILE@"
  sha256 "@SHA256@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on arch: :x86_64
  depends_on :linux

  def install
    bin.install "halfpower"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/halfpower.bash" => "halfpower"
    zsh_completion.install "completions/_halfpower"
    fish_completion.install "completions/halfpower.fish"
  end

  test do
    assert_match "simulated", shell_output("#{bin}/halfpower run sim:mm1,service=5ms --no-save")
  end
end
